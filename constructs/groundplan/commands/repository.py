"""``groundplan init --repository``: a team's own repository around a profile, with scripts and a CI that runs them."""

from __future__ import annotations

import importlib.metadata
import json
from importlib import resources
from pathlib import Path

from findings import UserError
from findings.printing import write_text
from groundplan import __version__

#: File of the repository -> the templates that it is made of; those in `_GCS` and `_CLOUD` besides, by the backend.
_FILES = {
    "scripts/check": ("check.sh",),
    "scripts/lock": ("lock.sh",),
    "scripts/plan": ("plan.sh",),
    ".gitignore": ("gitignore.sh",),
    ".github/workflows/site.yaml": ("workflow.yaml",),
    "README.md": ("readme.md",),
}
_GCS = {".github/workflows/site.yaml": ("workflow_plan.yaml",), "README.md": ("readme_gcs.md",)}
_CLOUD = {"README.md": ("readme_cloud.md",)}


def refuse_files_that_are_there(folder: Path) -> None:
    """Raises UserError: a repository is begun once, and is the team's own from then on."""
    there = [name for name in (*_FILES, "requirements.txt", "profiles", "sites") if (folder / name).exists()]
    if there:
        raise UserError(f"{folder} has {', '.join(there)}; --repository writes into a folder that has none of these")


def repository_files(site: str, project: str, *, bucket: str = "", organization: str = "") -> dict[str, str]:
    """Path -> text, of everything but the profile and its output. Of `bucket` and `organization` one is given."""
    words = {"SITE": site, "PROJECT": project, "BUCKET": bucket, "ORGANIZATION": organization}
    more = _GCS if bucket else _CLOUD
    found = {"requirements.txt": _requirements()}
    for name, parts in _FILES.items():
        text = "".join(_template(part) for part in (*parts, *more.get(name, ())))
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        found[name] = text
    return found


def write_repository(folder: Path, files: dict[str, str]) -> None:
    """Write the files; scripts can be run. Raises UnavailableError."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        if name.startswith("scripts/"):
            path.chmod(0o755)


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("repository", name).read_text("utf-8")


def _requirements() -> str:
    """This very groundplan, pinned: by commit where it was installed from git, else by version."""
    try:
        origin = json.loads(importlib.metadata.distribution("groundplan").read_text("direct_url.json") or "{}")
    except importlib.metadata.PackageNotFoundError:
        origin = {}
    commit = origin.get("vcs_info", {}).get("commit_id")
    if commit:
        return f"groundplan[rehearsal] @ git+{origin['url']}@{commit}\n"
    return (
        "# From your package index; or: groundplan[rehearsal] @ git+https://HOST/groundplan.git@COMMIT\n"
        f"groundplan[rehearsal]=={__version__}\n"
    )
