"""Let Node start and load assemblies while Python imports what will use them.

jsii waits for the answer to each request before the next. For the greeting and for the loading of assemblies nobody
needs the answer at once, so they are sent, and their answers read before the first request that does need one: by then
Node has done its part beside Python's. One process, one pipe, no threads; answers come in the order of the requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping
from typing import Any

from fast_bindings.node import BindingsError


class _Apart:
    """The module `subprocess` for jsii: its Node gets no Ctrl-C of the terminal, which is for Python to answer.

    A Node that ends by a signal leaves its unpacked packages behind; told to exit, or when its input ends, it does not.
    """

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def Popen(self, *arguments: Any, **options: Any) -> Any:
        return self._module.Popen(*arguments, start_new_session=True, **options)


def install(
    process: Any, kernel_types: Any, spare: MutableMapping[str, str], note: Callable[[str], None], plain: str
) -> Callable[[], None]:
    """Defer the answers of jsii's Node process; `process` and `kernel_types` are jsii's modules of these parts.

    When Node refuses an assembly, the one that `spare` holds under its name (the full tarball) is tried in its place;
    `plain` is the variable that turns all of this off.
    Returns a function that reads every answer still owed, for callers that need a load to be done. Raises
    AttributeError, having changed nothing, when jsii is not as expected.
    """
    node = process._NodeProcess
    handshake, send, receive, stop = node.handshake, node.send, node._next_message, node.stop
    okay, answers, encode = process._OkayResponse, process._ProcessResponse, process.jdefault
    load = kernel_types.LoadRequest
    owed: list[Callable[[], None]] = []

    def settle() -> None:
        while owed:
            owed.pop(0)()

    def deferred_handshake(self: Any) -> None:
        owed.append(lambda: handshake(self))

    def deferred_send(self: Any, request: Any, response_type: Any) -> Any:
        if not isinstance(request, load):
            settle()
            return send(self, request, response_type)
        data = json.dumps(self._serializer.unstructure(request), default=encode).encode("utf8")
        self._process.stdin.write(data + b"\n")
        self._process.stdin.flush()
        owed.append(lambda: finish(self, request, response_type))
        return None

    def finish(self: Any, request: Any, response_type: Any) -> None:
        answer = self._serializer.structure(receive(self), answers)
        if isinstance(answer, okay):
            return
        full = spare.pop(request.name, None)
        if full is None:
            reason = str(getattr(answer, "error", answer)).partition("\n")[0]
            raise BindingsError(f"Node cannot load {request.name} {request.version}: {reason}; set {plain}=1")
        note(f"the full tarball of {request.name}, for Node refuses the slim one")
        deferred_send(self, load(name=request.name, version=request.version, tarball=full), response_type)

    def whole_stop(self: Any) -> None:
        """jsii stops a process that was interrupted before it had one, too: when Python takes it away."""
        if hasattr(self, "sink_thread"):  # what it makes last
            stop(self)

    node.handshake, node.send, node.stop = deferred_handshake, deferred_send, whole_stop
    process.subprocess = _Apart(process.subprocess)
    return settle
