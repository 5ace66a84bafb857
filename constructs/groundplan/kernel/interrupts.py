"""Interrupts: Ctrl-C and a polite kill end the program in order, and never in the middle of a replacement of files."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: What asks the program to end.
SIGNALS = (signal.SIGINT, signal.SIGTERM)

_received: list[int] = []


class Stopped(KeyboardInterrupt):
    """The program was asked to end.

    Not KeyboardInterrupt itself: one that passed through `exec`, by which attrs and jsii build classes, makes Python
    end by SIGINT whatever the program's exit code is.
    """


def listen() -> None:
    """From now on a signal raises Stopped, so that folders are cleaned up; a second one ends at once."""
    for number in SIGNALS:
        signal.signal(number, _stop)


def received() -> int:
    """The exit code of a program that was asked to end (130 for Ctrl-C, 143 for a kill); 0 when nobody asked."""
    return 128 + _received[0] if _received else 0


def _stop(number: int, _: FrameType | None) -> None:
    _received.append(number)
    # Whatever was half made complains when it is taken down (jsii of a Node that never started); nobody can mend that.
    silence(2)
    for each in SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    raise Stopped


def silence(*streams: int) -> None:
    """Send what is still written to these streams nowhere."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nothing, stream)
    os.close(nothing)


@contextmanager
def deferred() -> Iterator[None]:
    """Signals wait until the end of the block: for what must be done wholly or not at all, and takes milliseconds."""
    if threading.current_thread() is not threading.main_thread():  # where Python runs no handlers
        yield
        return
    waiting: list[int] = []
    before = {number: signal.signal(number, lambda number, _: waiting.append(number)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if waiting:
            signal.raise_signal(waiting[0])
