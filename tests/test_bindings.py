"""Loading cdktf fast must change nothing but the time.

Each program runs in a process of its own, as there is one jsii kernel to a process. Most use only the helm provider,
whose slim assembly is built in a hundredth of a second.
"""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import typing
from collections.abc import Mapping
from pathlib import Path

import pytest
import typeguard

import fast_bindings
from fast_bindings import registry
from fast_bindings.options import Options
from groundplan.emit import modules

PROFILE = Path(__file__).parents[1] / "profiles" / "nemo-rl-b200.yaml"

HELM = """
import os
from groundplan.emit import modules
modules.load()
from cdktf import App, LocalBackend, TerraformStack
from cdktf_cdktf_provider_helm.provider import HelmProvider
from cdktf_cdktf_provider_helm.release import Release, ReleaseSet

app = App(outdir=os.environ["OUT"], stack_traces=False)
stack = TerraformStack(app, "helm")
LocalBackend(stack, path="terraform.tfstate")
HelmProvider(stack, "helm")
Release(stack, "release", name="kuberay", chart="kuberay-operator", set=[ReleaseSet(name="a", value="b")])
app.synth()
"""

ALL_PROVIDERS = (
    HELM
    + """
from cdktf_cdktf_provider_google import container_cluster as gke
from cdktf_cdktf_provider_google.compute_network import ComputeNetwork
from cdktf_cdktf_provider_google.compute_subnetwork import ComputeSubnetwork, ComputeSubnetworkSecondaryIpRange
from cdktf_cdktf_provider_google.container_node_pool import (
    ContainerNodePool, ContainerNodePoolNodeConfig, ContainerNodePoolNodeConfigGuestAccelerator,
)
from cdktf_cdktf_provider_google.data_google_container_cluster import DataGoogleContainerCluster
from cdktf_cdktf_provider_google.lustre_instance import LustreInstance
from cdktf_cdktf_provider_google.provider import GoogleProvider
from cdktf_cdktf_provider_kubernetes.namespace_v1 import NamespaceV1, NamespaceV1Metadata
from cdktf_cdktf_provider_kubernetes.provider import KubernetesProvider

site = TerraformStack(app, "site")
LocalBackend(site, path="terraform.tfstate")
GoogleProvider(site, "google", project="p", region="r")
network = ComputeNetwork(site, "network", name="n", auto_create_subnetworks=False)
subnetwork = ComputeSubnetwork(
    site, "subnetwork", name="s", network=network.id, ip_cidr_range="10.0.0.0/20",
    secondary_ip_range=[ComputeSubnetworkSecondaryIpRange(range_name="pods", ip_cidr_range="10.4.0.0/14")],
)
cluster = gke.ContainerCluster(
    site, "cluster", name="c", location="r", network=network.id, subnetwork=subnetwork.id,
    private_cluster_config=gke.ContainerClusterPrivateClusterConfig(enable_private_nodes=True),
)
gpu = ContainerNodePoolNodeConfigGuestAccelerator(type="nvidia-b200", count=8)
ContainerNodePool(
    site, "pool", cluster=cluster.name,
    node_config=ContainerNodePoolNodeConfig(machine_type="a4-highgpu-8g", guest_accelerator=[gpu]),
)
LustreInstance(
    site, "lustre", capacity_gib="18000", filesystem="f", instance_id="i", location="z", network=network.id,
    per_unit_storage_throughput="1000",
)
seen = DataGoogleContainerCluster(site, "seen", name="c", location="r")
KubernetesProvider(site, "kubernetes", cluster_ca_certificate=seen.master_auth.get(0).cluster_ca_certificate)
NamespaceV1(site, "namespace", metadata=NamespaceV1Metadata(name=cluster.name))
app.synth()
"""
)


def run(program: str, out: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program in a clean environment; it must succeed."""
    out.mkdir(parents=True)
    mine = ("GROUNDPLAN_", "JSII_", "XDG_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    environ = {**clean, "GROUNDPLAN_DEBUG": "1", "OUT": str(out), **environ}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return done


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return {"GROUNDPLAN_CACHE": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def helm_files(tmp_path_factory: pytest.TempPathFactory, cache: Mapping[str, str]) -> dict[str, str]:
    """What the helm program writes the fast way."""
    out = tmp_path_factory.mktemp("helm") / "out"
    done = run(HELM, out, cache)
    assert (done.stdout, done.stderr) == ("", "")  # with GROUNDPLAN_DEBUG: nothing had to fall back
    written = files(out)
    assert "kuberay-operator" in written["stacks/helm/cdk.tf.json"]
    return written


#: The plain way, but for the 1,500 imports of google's root package: what it imports is imported when it is asked for.
WITHOUT_GOOGLE_S_ROOT = """
import importlib.util, sys
found = importlib.util.find_spec("cdktf_cdktf_provider_google")
sys.modules[found.name] = importlib.util.module_from_spec(found)
"""


def test_fast_and_plain_write_the_same_bytes(tmp_path: Path, cache: Mapping[str, str]) -> None:
    fast = run(ALL_PROVIDERS, tmp_path / "fast", cache)
    assert (fast.stdout, fast.stderr) == ("", "")
    # jsii would keep 500 MB of unpacked providers for a run that is not repeated.
    plain = {"GROUNDPLAN_PLAIN_IMPORTS": "1", "JSII_RUNTIME_PACKAGE_CACHE": "disabled"}
    run(WITHOUT_GOOGLE_S_ROOT + ALL_PROVIDERS, tmp_path / "plain", {**cache, **plain})
    assert files(tmp_path / "fast") == files(tmp_path / "plain")
    assert "nvidia-b200" in files(tmp_path / "fast")["stacks/site/cdk.tf.json"]


def test_google_s_root_package_does_nothing_but_import() -> None:
    """So that its absence changes nothing in the test above."""
    root = importlib.util.find_spec("cdktf_cdktf_provider_google")
    assert root is not None and root.origin is not None
    body = ast.parse(Path(root.origin).read_text("utf-8")).body
    rest = [ast.unparse(each) for each in body[1:] if not isinstance(each, ast.Import | ast.ImportFrom)]
    assert [re.split(r" = |\(", each)[0] for each in rest] == [
        "__path__",
        "TYPEGUARD_MAJOR_VERSION",
        "def check_type",
        "__all__",
        "publication.publish",
    ]


def test_plain_imports_install_nothing(tmp_path: Path, cache: Mapping[str, str], helm_files: dict[str, str]) -> None:
    program = HELM + (
        "import sys, jsii, cdktf_cdktf_provider_helm as root\n"
        "assert 'data_helm_template' in root.__all__, 'the real root package'\n"
        "assert jsii.kernel.load.__func__ is type(jsii.kernel).load\n"
        "assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith('fast_bindings')]\n"
    )
    run(program, tmp_path / "out", {**cache, "GROUNDPLAN_PLAIN_IMPORTS": "1"})
    assert files(tmp_path / "out") == helm_files


def test_collector_is_restored_and_second_load_is_free(tmp_path: Path, cache: Mapping[str, str]) -> None:
    program = HELM + (
        "import gc, jsii\n"
        "assert gc.isenabled()\n"
        "before = jsii.kernel.load\n"
        "modules.load()\n"
        "assert jsii.kernel.load is before\n"
    )
    run(program, tmp_path / "out", cache)


def test_class_of_a_module_nobody_imported_is_found(tmp_path: Path, cache: Mapping[str, str]) -> None:
    """jsii asks for it when Node returns an object of such a class."""
    program = (
        "import sys\nfrom groundplan.emit import modules\nmodules.load()\n"
        "import cdktf_cdktf_provider_helm._jsii\nfrom jsii import _reference_map\n"
        "assert 'cdktf_cdktf_provider_helm.release' not in sys.modules\n"
        "assert _reference_map._try_import_type_module('@cdktf/provider-helm.release.Release')\n"
        "assert '@cdktf/provider-helm.release.Release' in _reference_map._types\n"
    )
    run(program, tmp_path / "out", cache)


@pytest.mark.parametrize("damage", [b"", b"not a tarball"], ids=["empty", "other"])
def test_damaged_cache_is_rebuilt(tmp_path: Path, helm_files: dict[str, str], damage: bytes) -> None:
    environ = {"GROUNDPLAN_CACHE": str(tmp_path / "cache")}
    run(HELM, tmp_path / "first", environ)
    (tarball,) = (tmp_path / "cache").glob("provider-helm-*.tgz")
    intact = tarball.read_bytes()
    tarball.write_bytes(damage)
    again = run(HELM, tmp_path / "again", environ)
    assert again.stderr == ""
    assert files(tmp_path / "again") == helm_files
    assert tarball.read_bytes() == intact


def test_programs_that_build_at_the_same_time(tmp_path: Path) -> None:
    environ = {**os.environ, "GROUNDPLAN_CACHE": str(tmp_path / "cache")}
    both = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        both.append(subprocess.Popen([sys.executable, "-c", HELM], env={**environ, "OUT": str(tmp_path / name)}))
    assert [process.wait(60) for process in both] == [0, 0]
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert len(list((tmp_path / "cache").glob("*.tgz"))) == 1
    assert not list((tmp_path / "cache").glob(".slim-*"))


@pytest.mark.parametrize("variable", ["GROUNDPLAN_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_unusable_cache_folder(tmp_path: Path, helm_files: dict[str, str], variable: str) -> None:
    """For root every folder is writable; below a file there is none."""
    (tmp_path / "file").touch()
    done = run(HELM, tmp_path / "out", {variable: str(tmp_path / "file" / "below")})
    assert "no cache: " in done.stderr and "full tarball" not in done.stderr
    assert files(tmp_path / "out") == helm_files


@pytest.mark.parametrize(
    ("breakage", "said"),
    [
        ("def build(*a): raise ValueError('unexpected layout')", "full tarball of @cdktf/provider-helm"),
        ("def build(*a): return b'Node cannot unpack this'", "full tarball of @cdktf/provider-helm"),
        ("import jsii._reference_map as m; del m._submodule_fqn_map; build = slim.build", "plain imports"),
    ],
    ids=["build fails", "Node refuses", "jsii is different"],
)
def test_fast_path_breaks_down(tmp_path: Path, helm_files: dict[str, str], breakage: str, said: str) -> None:
    program = f"from fast_bindings import slim\n{breakage}\nslim.build = build\n" + HELM
    if "reference_map" in breakage:  # jsii itself needs what was taken away
        program = program.replace("modules.load()", "modules.load(); m._submodule_fqn_map = {}")
    done = run(program, tmp_path / "out", {"GROUNDPLAN_CACHE": str(tmp_path / "cache")})
    assert said in done.stderr
    assert files(tmp_path / "out") == helm_files


TEMPLATE = """
import fast_bindings
from groundplan.emit import modules
modules.load()
try:
    from cdktf_cdktf_provider_helm.data_helm_template import DataHelmTemplate
except fast_bindings.BindingsError as error:
    print(error)
else:
    from cdktf import App, TerraformStack
    DataHelmTemplate(TerraformStack(App(), "s"), "t", name="n", chart="c")
    print("made")
"""


def test_module_outside_the_registry_needs_a_word(tmp_path: Path, cache: Mapping[str, str]) -> None:
    refused = run(TEMPLATE, tmp_path / "a", cache).stdout
    assert "GROUNDPLAN_EXTRA_MODULES=helm.data_helm_template" in refused and refused.count("\n") == 1
    extra = {"GROUNDPLAN_EXTRA_MODULES": "helm.data_helm_template, google.compute_instance"}
    assert run(TEMPLATE, tmp_path / "b", {**cache, **extra}).stdout == "made\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("google.compute_instanc", "has no module compute_instanc; did you mean google.compute_instance?"),
        ("aws.instance", "'aws.instance' is not PROVIDER.MODULE with one of google, helm, kubernetes"),
        ("google", "'google' is not PROVIDER.MODULE"),
        ("google.../../x", "is not PROVIDER.MODULE"),
    ],
)
def test_extra_modules_are_checked(monkeypatch: pytest.MonkeyPatch, value: str, message: str) -> None:
    monkeypatch.setenv("GROUNDPLAN_EXTRA_MODULES", value)
    with pytest.raises(fast_bindings.BindingsError, match=r"^GROUNDPLAN_EXTRA_MODULES: ") as error:
        registry.chosen_modules(modules.MODULES, None, Options("groundplan"))
    assert message in str(error.value)


# Any cdktf program

UNTOUCHED = """
import typing, typeguard
before = typing.get_type_hints, typeguard.check_type
def untouched():
    return (typing.get_type_hints, typeguard.check_type) == before
"""

OWN_LIST = (
    UNTOUCHED
    + """
import sys, fast_bindings
fast_bindings.load({"helm": ["provider"]}, extra={"helm": ["release"]}, name="my-site")
assert untouched()
from cdktf import App, TerraformStack
from cdktf_cdktf_provider_helm.release import Release
stack = TerraformStack(App(), "s")
for wrong in ({"name": 1, "chart": "c"}, {"name": "n", "chart": "c", "nmespace": "x"}):
    try:
        Release(stack, "wrong", **wrong)
    except TypeError as error:
        print(error)
    else:
        raise SystemExit(f"accepted {wrong}")
with fast_bindings.spared_type_checks():
    assert typeguard.check_type is not before[1]
    Release(stack, "right", name="n", chart="c")
assert untouched()
try:
    fast_bindings.load({"helm": ["data_helm_template"]}, name="my-site")
except fast_bindings.BindingsError as error:
    print(error)
assert not [name for name in sys.modules if name.partition(".")[0] == "groundplan"]
"""
)


def test_program_with_a_list_of_its_own(tmp_path: Path) -> None:
    """Nothing of groundplan is imported, and cdktf's own checks refuse a wrong type and a typo."""
    done = run(OWN_LIST, tmp_path / "out", {"MY_SITE_CACHE": str(tmp_path / "cache")})
    assert "type of argument name must be str" in done.stdout
    assert "unexpected keyword argument 'nmespace'" in done.stdout
    assert "the first call of load left out helm.data_helm_template; name all modules there" in done.stdout
    assert list((tmp_path / "cache").glob("provider-helm-*.tgz"))


def test_type_checks_return_after_an_exception() -> None:
    before = typing.get_type_hints, typeguard.check_type
    with pytest.raises(KeyError), fast_bindings.spared_type_checks(), fast_bindings.spared_type_checks():
        raise KeyError
    assert (typing.get_type_hints, typeguard.check_type) == before


@pytest.mark.parametrize("fails", [False, True], ids=["build", "failed build"])
def test_build_leaves_the_type_checks_in_place(tmp_path: Path, cache: Mapping[str, str], fails: bool) -> None:
    failure = "def build_app(*a): raise RuntimeError('no')\nstacks.build_app = build_app\n" if fails else ""
    program = UNTOUCHED + (
        "import os\nfrom pathlib import Path\nfrom findings import UserError\n"
        "from groundplan.emit import app, modules\nfrom groundplan.site.check import checked_site\n"
        f"modules.load()\nassert untouched()\nfrom groundplan.emit import stacks\n{failure}"
        f"site = checked_site(Path({str(PROFILE)!r}))[0]\n"
        "try:\n    app.write_site(site, Path(os.environ['OUT']))\n    print('built')\n"
        "except UserError:\n    print('failed')\n"
        "assert untouched()\n"
    )
    assert run(program, tmp_path / "out", cache).stdout == ("failed\n" if fails else "built\n")
