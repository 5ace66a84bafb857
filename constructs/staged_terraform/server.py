"""Serves the simulated providers to Terraform: one process, one unix socket a provider, plugin protocol 6.

Terraform finds them through ``TF_REATTACH_PROVIDERS``, a variable that :meth:`Server.environment` gives and that only
the child process gets. So ``init`` needs no registry, no lock file is written, and no CLI configuration is read.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from concurrent import futures
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc

from staged_terraform import schemas
from staged_terraform.protocol import parse
from staged_terraform.provider import Handler, SimulatedProvider
from staged_terraform.schema_changes import NO_CHANGES, SchemaChanges, amended
from staged_terraform.schema_types import Block
from staged_terraform.simulated_cloud import SimulatedCloud

_SERVICE = "/tfplugin6.Provider/"
#: Terraform walks its graph ten wide.
_WORKERS = 12


class Server:
    """The providers of one rehearsal; a context manager. `legacy` False serves all of them with strict type checks.

    `cache` is the folder of recovered schemas, None the package's own; `changes` are laid over them.
    """

    def __init__(
        self,
        keys: Iterable[schemas.TypeKey],
        cloud: SimulatedCloud,
        legacy: bool = True,
        cache: Path | None = None,
        changes: SchemaChanges = NO_CHANGES,
    ) -> None:
        wanted = {*keys, *(("provider", name) for name in schemas.PROVIDERS)}
        loaded = {
            (kind, name): amended(block, changes.of(kind, name))
            for (kind, name), block in schemas.load((key for key in wanted if key[0] != "ephemeral"), cache).items()
        }
        loaded |= {("ephemeral", name): amended(Block(), each) for name, each in changes.ephemeral.items()}
        self.cloud = cloud
        self.providers = {}
        for name in schemas.PROVIDERS:
            mine = {key: block for key, block in loaded.items() if schemas.provider_of(key[1]) == name}
            self.providers[name] = SimulatedProvider(name, mine, cloud, legacy and not schemas.wheel(name).framework)
        self._servers: list[Any] = []
        self._folder: Path | None = None

    def __enter__(self) -> Server:
        # A short path: unix sockets allow about a hundred bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="gp-"))
        for name, provider in self.providers.items():
            server = grpc.server(
                futures.ThreadPoolExecutor(_WORKERS, thread_name_prefix=f"simulated-{name}"),
                handlers=[_handler(provider.handlers)],
                options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
            )
            server.add_insecure_port(f"unix:{self._folder / name}")
            server.start()
            self._servers.append(server)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for event in [server.stop(grace=0.2) for server in self._servers]:
            event.wait(2)
        self._servers.clear()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def offer(self, keys: set[schemas.TypeKey]) -> None:
        """Offer only these types to the Terraform runs that follow."""
        for provider in self.providers.values():
            provider.in_use = keys

    def environment(self) -> dict[str, str]:
        """The variable by which a Terraform child process finds the providers."""
        assert self._folder is not None, "the server is not running"
        found = {
            f"hashicorp/{name}": {
                "Protocol": "grpc",
                "ProtocolVersion": 6,
                "Pid": os.getpid(),
                "Test": True,
                "Addr": {"Network": "unix", "String": str(self._folder / name)},
            }
            for name in self.providers
        }
        return {"TF_REATTACH_PROVIDERS": json.dumps(found)}

    @property
    def guessed(self) -> list[str]:
        """Types in use whose force-new arguments and identifiers are guesses."""
        return sorted(
            name for provider in self.providers.values() for name, facts in provider.facts.items() if facts.guessed
        )


def _handler(handlers: dict[str, Handler]) -> Any:
    """A generic handler: bytes in, bytes out, by method name; anything else is unimplemented."""

    def wrap(handle: Handler) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda request, context: handle(parse(request)))

    methods = {name: wrap(handle) for name, handle in handlers.items()}

    class Generic(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            method: str = details.method
            return methods.get(method.removeprefix(_SERVICE)) if method.startswith(_SERVICE) else None

    return Generic()
