"""From a Site to files: the cdktf app, the artefacts beside it, and putting both in place.

Everything is written to a temporary folder first and moved file by file, so that a failure leaves the old output whole,
and what Terraform keeps in the output folder (``.terraform``, lock files) is never touched.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from findings import Finding, ProfileError, UnavailableError, UserError
from groundplan.emit.artefacts import artefacts
from groundplan.emit.modules import building, load
from groundplan.kernel import interrupts, stack_files
from groundplan.kernel.folders import made
from groundplan.site.check import checked_site
from groundplan.site.resolve import Site
from groundplan.site.stacks import entries_of

if TYPE_CHECKING:  # cdktf is loaded by who synthesizes
    from cdktf import App

    from groundplan.site.stack import SiteStack

#: An unresolved cdktf token that leaked into a string would reach Terraform as nonsense.
_LEAKED_TOKEN = re.compile(r"TfToken\[|\$\{TFTOKEN|Token\[TOKEN\.")

#: Characters of a text in a stack's JSON, where each is one line: of a longer one no reviewer sees what changes.
MAX_TEXT = 4000

MANIFEST = "manifest.json"
TERRAFORM_FILE = "cdk.tf.json"


@dataclass(frozen=True)
class StackOutput:
    """One stack as written: its resources counted by type, data sources left out."""

    name: str
    file: Path
    resources: dict[str, int]

    @property
    def count(self) -> int:
        """Resources in the stack."""
        return sum(self.resources.values())


@dataclass(frozen=True)
class Output:
    """A synthesized site."""

    site: Site
    folder: Path
    stacks: tuple[StackOutput, ...]
    warnings: list[Finding]


def synthesize(profile: Path, out: Path, *, strict: bool = False, replace: bool = False) -> Output:
    """Check a profile and write its site to `out`; `replace` takes away another site that `out` holds.

    Raises ProfileError when a rule refuses the profile (or warns, under `strict`), UserError when `out` cannot be
    written or holds another site; either way nothing in `out` has changed.
    """
    return add_site(out, profile, strict=strict, replace=replace).synth()


def add_site(out: Path, profile: Path, *, strict: bool = False, replace: bool = False) -> SiteProgram:
    """The stacks of a profile in a cdktf app that writes to `out`, for programs that add resources of their own.

    Raises ProfileError when a rule refuses the profile (or warns, under `strict`), UserError when `out` cannot be
    written or holds another site (and not `replace`).
    """
    site, warnings = checked_site(profile)
    if strict and warnings:
        raise ProfileError(warnings)
    return SiteProgram(site, out, warnings, profile=profile, replace=replace)


def write_site(site: Site, out: Path, warnings: list[Finding] | None = None) -> Output:
    """Write the stacks and the artefacts of a checked site."""
    return SiteProgram(site, out, warnings).synth()


class SiteProgram:
    """A site's stacks in a cdktf app, open for resources of the caller's own until :meth:`synth`.

    Raises UserError when `out` cannot be written, or holds another site and not `replace`.
    """

    def __init__(
        self,
        site: Site,
        out: Path,
        warnings: list[Finding] | None = None,
        *,
        profile: Path | None = None,
        replace: bool = False,
    ) -> None:
        self.site = site
        self.profile = Path(f"{site.name}.yaml") if profile is None or str(profile) == "-" else profile
        """The file that the run-book's commands name."""
        self.folder = Path(os.path.abspath(out))  # noqa: PTH100  (resolve() would follow the user's symlinks)
        self.warnings = warnings or []
        """What the rules said of the profile without refusing it."""
        if not replace:
            _refuse_another_site(site.name, out, self.profile)
        self._clean_up = ExitStack()
        try:
            self._clean_up.enter_context(made(self.folder))
            scratch = tempfile.TemporaryDirectory(prefix=".groundplan-", dir=self.folder, ignore_cleanup_errors=True)
            self._scratch = Path(self._clean_up.enter_context(scratch))
        except OSError as error:
            self._clean_up.close()
            raise UnavailableError(f"cannot write to {out}: {error.strerror}") from None
        try:
            load()
            from groundplan.emit.stacks import add_stacks, build_app  # cdktf: a second, and only for who synthesizes

            with building():
                self.app: App = build_app(self._scratch)
                """The cdktf app; stacks of your own may be added to it."""
                self.stacks: Mapping[str, SiteStack] = MappingProxyType(add_stacks(self.app, site))
                """Name (`network`, `storage`, ...) -> stack."""
        except RuntimeError as error:
            self._clean_up.close()
            raise _cdktf_failed(error) from error
        except BaseException:
            self._clean_up.close()
            raise

    def synth(self) -> Output:
        """Write everything that ``groundplan synth`` writes, and what was added; once.

        Raises UserError on a leaked token, on a text of more than `MAX_TEXT` characters, on what cdktf refuses, and
        when the folder cannot be written; nothing of the old output has changed then.
        """
        scratch = self._scratch
        try:
            with building():
                self.app.synth()
            for name, text in artefacts(self.site, self.profile.name).items():
                path = scratch / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8", newline="\n")
            stacks = tuple(_inspect(name, scratch, self.folder) for name in self._names(scratch))
            with interrupts.deferred():
                _move_into_place(scratch, self.folder)
        except RuntimeError as error:
            raise _cdktf_failed(error) from error
        except OSError as error:
            raise UnavailableError(f"cannot write to {self.folder}: {error.strerror}") from None
        finally:
            self._clean_up.close()
        return Output(self.site, self.folder, stacks, self.warnings)

    def _names(self, scratch: Path) -> list[str]:
        """The site's stacks in their order, then those that the caller added."""
        own = [self.site.stack_name(entry.name) for entry in self.site.stacks]
        written = json.loads((scratch / MANIFEST).read_text("utf-8"))["stacks"]
        return own + sorted(set(written) - set(own))


def _cdktf_failed(error: RuntimeError) -> UserError:
    """What jsii raises for anything that goes wrong on the Node side, in one line."""
    reason = str(error).partition("\n")[0]
    return UserError(f"cdktf could not synthesize: {reason}; please report it with your profile")


def _inspect(name: str, scratch: Path, out: Path) -> StackOutput:
    """Count what was written, and refuse what no review would notice: leaked tokens, texts of a whole file."""
    relative = Path("stacks") / name / TERRAFORM_FILE
    text = (scratch / relative).read_text("utf-8")
    leaked = _LEAKED_TOKEN.search(text)
    if leaked:
        line = text.count("\n", 0, leaked.start()) + 1
        raise UserError(f"{relative}:{line} holds an unresolved token; this is a fault of groundplan, please report it")
    document: dict[str, Any] = json.loads(text)
    for path, long in _long_texts(document):
        raise UserError(
            f"{relative}: {'.'.join(path)} is a text of {len(long)} characters, in one line that nobody can review;"
            ' put it into a file beside the stack and read it with ${file("${path.module}/FILE")}'
        )
    resources = {kind: len(entries) for kind, entries in sorted(document.get("resource", {}).items())}
    return StackOutput(name, out / relative, resources)


def _long_texts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str) and len(value) > MAX_TEXT:
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in inner:
        yield from _long_texts(each, (*path, str(step)))


def _move_into_place(scratch: Path, out: Path) -> None:
    """Replace file by file; then drop generated files that this synth no longer makes."""
    before = generated_files(out)
    written = sorted(path.relative_to(scratch) for path in scratch.rglob("*") if path.is_file())
    for relative in written:
        target = out / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        (scratch / relative).replace(target)
    for relative in before - set(written):
        (out / relative).unlink(missing_ok=True)
        for folder in (out / relative).parents:
            if folder == out or any(folder.iterdir()):
                break
            folder.rmdir()


def _refuse_another_site(site: str, out: Path, profile: Path) -> None:
    """One output folder holds one site: another's stacks would be taken away, its applied ones included."""
    others = sites_in(out) - {site}
    if others:
        raise UserError(
            f"{out} holds site {', '.join(sorted(others))}, and a folder holds one site: {profile} is site {site};"
            f" give it a folder of its own (-o {site}), or --replace to take {' and '.join(sorted(others))} away"
        )


def sites_in(out: Path) -> set[str]:
    """Names of the sites that an output folder holds: all of a site's stacks stand in its manifest."""
    stacks = _stacks_in(out)
    wanted = [entry.name for entry in entries_of()]
    named = {stack.removesuffix(f"-{wanted[0]}") for stack in stacks if stack.endswith(f"-{wanted[0]}")}
    return {name for name in named if stacks >= {f"{name}-{kind}" for kind in wanted}}


def _stacks_in(out: Path) -> set[str]:
    """The stacks that an output folder's manifest lists; none if it has none that can be read."""
    try:
        return set(json.loads((out / MANIFEST).read_text("utf-8"))["stacks"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def generated_files(out: Path) -> set[Path]:
    """Files in an output folder that groundplan wrote, by the stacks that its manifest lists; none if it has none."""
    stacks = _stacks_in(out)
    if not stacks:
        return set()
    files = {Path(MANIFEST), Path("rayjob.yaml"), Path("fabric-test.yaml"), Path("runbook.md")}
    for stack in stacks:
        folder = Path("stacks") / stack
        files |= {folder / TERRAFORM_FILE}
        for beside in (stack_files.CHART, stack_files.MANIFESTS):
            files |= {path.relative_to(out) for path in (out / folder / beside).rglob("*") if path.is_file()}
    return {file for file in files if (out / file).is_file()}
