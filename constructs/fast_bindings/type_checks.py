"""Sparing the argument checks of generated classes for the length of one build."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def spared_type_checks() -> Iterator[None]:
    """Leave the checking of argument types to mypy before, and to the kernel at the call.

    Every generated constructor evaluates its annotations anew and has typeguard walk the arguments along them: a
    thirtieth of a synth. Within this context it does not; ``typing.get_type_hints`` and ``typeguard.check_type`` are
    replaced for all threads, and put back at its end, also after an exception. Unknown arguments are refused as ever.
    """
    import typeguard  # a part of jsii's start-up, which a program that only checks must not pay

    evaluate, check = typing.get_type_hints, typeguard.check_type
    known: dict[object, dict[str, Any]] = {}

    def get_type_hints(obj: Any, *args: Any, **options: Any) -> dict[str, Any]:
        if args or options or not getattr(obj, "__name__", "").startswith("_typecheckingstub__"):
            return evaluate(obj, *args, **options)
        if obj not in known:
            known[obj] = evaluate(obj)
        return known[obj]

    def check_nothing(*args: Any, **options: Any) -> None:
        """Accept every argument."""

    typing.get_type_hints = get_type_hints
    typeguard.check_type = check_nothing
    try:
        yield
    finally:
        typing.get_type_hints, typeguard.check_type = evaluate, check
