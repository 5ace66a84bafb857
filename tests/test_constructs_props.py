"""Props refuse what is wrong, by name: typos, limits, contradictions; and every construct is documented."""

from __future__ import annotations

import dataclasses
import importlib
import re
from typing import Any

import pytest
from pydantic import ValidationError

from groundplan.emit.modules import load
from groundplan.kernel.documentation import _docstrings
from ray_objects import RAY_JOB, SCRIPTS
from sites import ROOT

FABRIC = {"project": "p", "region": "us-central1", "zone": "us-central1-b", "network": "n", "cidrs": ["10.0.0.0/24"]}
POOL = {
    "name": "p", "project": "p", "cluster": "c", "location": "us-central1", "zone": "us-central1-b", "nodes": 2,
    "machine_type": "a4-highgpu-8g", "accelerator": "nvidia-b200", "gpus_per_node": 8, "networks": (),
    "service_account": "a@p", "reservation": "projects/p/reservations/r",
}  # fmt: skip


@pytest.mark.parametrize(
    ("props", "given", "says"),
    [
        ("RoceFabricProps", {**FABRIC, "subnetwork": ["a"]}, "subnetwork"),
        ("RoceFabricProps", {**FABRIC, "cidrs": ["10.0.0.1/24"]}, "10.0.0.0/24"),
        ("RoceFabricProps", {**FABRIC, "cidrs": []}, "cidrs"),
        ("RoceFabricProps", {**FABRIC, "subnetworks": ["a", "b"]}, "2 names for 1 ranges"),
        ("RoceFabricProps", {**FABRIC, "mtu": 9000}, "8896"),
        ("RoceFabricProps", {**FABRIC, "zone": "us-central1"}, "us-central1-b"),
        ("GpuNodePoolProps", {**POOL, "acelerator": "nvidia-b200"}, "acelerator"),
        ("GpuNodePoolProps", {**POOL, "most_nodes": 4}, "exactly one of nodes and most_nodes"),
        ("GpuNodePoolProps", {**POOL, "nodes": None, "most_nodes": 2, "least_nodes": 3}, "least_nodes 3 is above"),
        ("GpuNodePoolProps", {**POOL, "reservation": ""}, "needs a reservation"),
        ("GpuNodePoolProps", {**POOL, "capacity": "spott"}, "spott"),
        ("GpuNodePoolProps", {**POOL, "driver": "NEWEST"}, "NEWEST"),
        ("GpuNodePoolProps", {**POOL, "networks": ["roce"]}, "networks"),
        ("GpuNodePoolProps", {**POOL, "taints": [{"key": "a", "efect": "NO_EXECUTE"}]}, "instance of NodeTaint"),
        ("NodeTaint", {"key": "a", "efect": "NO_EXECUTE"}, "efect"),
        ("GpuNodePoolProps", {**POOL, "gpus_per_node": "8"}, "gpus_per_node"),
    ],
)
def test_wrong_props_are_refused_by_name(props: str, given: dict[str, object], says: str) -> None:
    load()
    from groundplan.gpu import constructs

    with pytest.raises(ValidationError, match=says.replace(".", r"\.")):
        getattr(constructs, props)(**given)
    right = {"RoceFabricProps": FABRIC, "GpuNodePoolProps": POOL, "NodeTaint": {"key": "a", "effect": "NO_EXECUTE"}}
    getattr(constructs, props)(**right[props])


OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        ([], "at least 1 item"),
        ([SCRIPTS], "has 0 of RayJob and RayCluster; give exactly one"),
        ([RAY_JOB, {**RAY_JOB, "kind": "RayCluster"}], "has 2 of RayJob and RayCluster; give exactly one"),
        ([RAY_JOB, SCRIPTS, SCRIPTS], "configmap-train-1 stands there twice"),
        ([RAY_JOB, {"kind": "ConfigMap"}], "a whole object, with apiVersion, kind and metadata.name"),
        ([RAY_JOB, {**OBJECT, "metadata": {"nam": "a"}}], "a whole object, with apiVersion, kind and metadata.name"),
        ([RAY_JOB, "kind: ConfigMap"], "valid dictionary"),
    ],
)
def test_a_ray_chart_has_one_job(objects: list[Any], says: str) -> None:
    load()
    from groundplan.workload.constructs import RayJobChartProps

    with pytest.raises(ValidationError, match=says) as refused:
        RayJobChartProps(release="r", namespace="n", objects=objects)
    assert refused.value.title == "RayJobChartProps"
    RayJobChartProps(release="r", namespace="n", objects=[RAY_JOB, OBJECT])


@pytest.mark.parametrize(
    ("module", "props", "field", "value", "limit"),
    [
        ("platform.access", "NamespaceProps", "name", "My_Space", "a Kubernetes name"),
        ("platform.access", "NamespaceProps", "pod_security", "none", "'privileged', 'baseline'"),
        ("platform.access", "NamespaceProps", "labels", {"a": "-"}, "a Kubernetes label value"),
        ("platform.access", "PodAccountProps", "email", "", "at least 1 character"),
        ("platform.access", "SecretProps", "variable", "2nd", "letters, digits, - and _"),
        ("platform", "LustreVolumeProps", "claim_gib", 0, "greater than or equal to 1"),
        ("platform.chart", "OperatorProps", "repository", "charts.example", "https:// or oci://"),
        ("platform.chart", "GibInstallerProps", "accelerators", "nvidia-b200", "valid tuple"),
        ("platform.chart", "PassThroughChartProps", "release", "r" * 54, "1 to 53 lower-case letters"),
        ("workload", "RayJobChartProps", "release", "Job", "1 to 53 lower-case letters"),
        ("storage", "BucketProps", "name", "My Bucket", "a bucket's name"),
        ("storage", "BucketAccessProps", "role", "objectUser", "a role such as roles/storage.objectUser"),
        ("cluster.account", "NodeAccountProps", "account_id", "short", "6 to 30 lower-case letters"),
        ("cluster.account", "WorkloadAccountProps", "namespace", "a.b", "a Kubernetes name"),
        ("cluster", "PrivateClusterProps", "release_channel", "FAST", "'RAPID', 'REGULAR', 'STABLE' or 'EXTENDED'"),
        ("cluster", "PrivateClusterProps", "max_pods_per_node", 257, "less than or equal to 256"),
        ("cluster", "PrivateClusterProps", "name", "c" * 41, "1 to 40 lower-case letters"),
        ("cluster", "CpuPoolProps", "disk_gib", 49, "greater than or equal to 50"),
        ("network", "PrimaryNetworkProps", "mtu", 1299, "greater than or equal to 1300"),
        ("network", "PrimaryNetworkProps", "nat", "no", "valid boolean"),
        ("network", "PrivateServiceAccessProps", "prefix_length", 30, "less than or equal to 29"),
        ("network.firewall", "IngressRuleProps", "source_ranges", (), "at least 1 item"),
        ("gpu.fabric", "GvnicNetworkProps", "mtu", 8897, "less than or equal to 8896"),
    ],
)  # fmt: skip
def test_a_limit_is_told_with_field_and_value(module: str, props: str, field: str, value: Any, limit: str) -> None:
    load()
    part, _, kind = module.partition(".")
    constructs = importlib.import_module(f"groundplan.{part}.{kind + '_' if kind else ''}constructs")
    with pytest.raises(ValidationError) as refused:
        getattr(constructs, props)(**{field: value})
    assert refused.value.title == props
    found = [each for each in refused.value.errors() if each["loc"][0] == field]
    assert [each["input"] for each in found] == [value["a"] if isinstance(value, dict) else value]
    assert limit in found[0]["msg"]


def test_counts_that_contradict_one_another_are_refused() -> None:
    load()
    from groundplan.cluster.constructs import CpuPoolProps
    from groundplan.platform.constructs import LustreVolumeProps
    from groundplan.storage.constructs import LustreInstance

    pool: dict[str, Any] = {
        "name": "p", "project": "p", "cluster": "c", "location": "us-central1", "zone": "us-central1-a",
        "nodes_account": "a@p",
    }  # fmt: skip
    CpuPoolProps(**pool, min_nodes=5)
    with pytest.raises(ValidationError, match=r"max_nodes: 5 is not at least min_nodes \(6\)"):
        CpuPoolProps(**pool, min_nodes=6)
    volume: dict[str, Any] = {
        "lustre": LustreInstance.existing(name="l", project="p", zone="us-central1-a", filesystem="f"),
        "volume": "v", "claim": "c", "namespace": "n", "storage_class": "s", "capacity_gib": 9000,
    }  # fmt: skip
    LustreVolumeProps(**volume, claim_gib=9000)
    with pytest.raises(ValidationError, match=r"claim_gib: 9001 is not at most capacity_gib \(9000\)"):
        LustreVolumeProps(**volume, claim_gib=9001)


def test_a_reference_passes_where_a_name_is_checked() -> None:
    load()
    from groundplan.storage.constructs import BucketProps

    props = BucketProps(name="${var.prefix}-Data", project="p", location="US", labels={"team": "${var.team}"})
    assert props.name == "${var.prefix}-Data"


MODULES = [
    f"groundplan.{path.parent.name}.{path.stem}"
    for path in sorted((ROOT / "constructs" / "groundplan").glob("*/*constructs.py"))
    if path.parent.name != "kernel"
]


def classes(module: str) -> list[type]:
    load()
    found = vars(importlib.import_module(module)).values()
    return [each for each in found if isinstance(each, type) and each.__module__ == module]


@pytest.mark.parametrize("module", MODULES)
def test_props_are_frozen_documented_and_refuse_typos(module: str) -> None:
    for props in filter(dataclasses.is_dataclass, classes(module)):
        name = props.__name__
        fields = {each.name: each for each in dataclasses.fields(props)}
        assert props.__dataclass_params__.frozen, name
        with pytest.raises(ValidationError) as refused:
            props(**{f"{each}_": "typo" for each in fields}, tpyo=1)
        typos = {each["loc"][0] for each in refused.value.errors() if each["type"] == "unexpected_keyword_argument"}
        assert (refused.value.title, typos) == (name, {*(f"{each}_" for each in fields), "tpyo"})
        texts: dict[str, str] = {}
        for base in reversed(props.__mro__):
            texts |= _docstrings(base.__module__).get(base.__name__, {}) if base is not object else {}
        for each in fields.values():
            assert texts.get(each.name), f"{name}.{each.name} says nothing"
            optional = each.default is not dataclasses.MISSING or each.default_factory is not dataclasses.MISSING
            assert not optional or "Default:" in texts[each.name], f"{name}.{each.name} does not say its default"


#: Most nodes of anything, the limit of every count of them; it is not told each time.
NODES = 15_000


@pytest.mark.parametrize("module", MODULES)
def test_limits_and_defaults_are_those_that_are_documented(module: str) -> None:
    for props in filter(dataclasses.is_dataclass, classes(module)):
        for name, field in props.__pydantic_fields__.items():  # type: ignore[attr-defined]
            text = " ".join(_docstrings(module)[props.__name__].get(name, "").split())
            limits = [getattr(each, end, None) for each in field.metadata for end in ("ge", "le")]
            for limit in (each for each in limits if each is not None and 1 < each != NODES):
                assert re.search(rf"\b{limit}\b", text), (
                    f"{props.__name__}.{name} does not say its limit {limit}: {text}"
                )
            default = {"True": "yes", "False": "no", "": None}.get(str(field.default), field.default)
            if isinstance(default, int | str) and name not in ("description", "chart"):  # whose words are told instead
                assert f"Default: {default}" in text, f"{props.__name__}.{name}, default {default!r}: {text}"


def test_the_library_page_lists_every_construct() -> None:
    from groundplan.kernel.constructs import Part

    page = (ROOT / "docs" / "library.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for module in MODULES:
        for construct in (each for each in classes(module) if issubclass(each, Part) and each.__name__[0] != "_"):
            (row,) = (each for each in rows if f"`{construct.__name__}`" in each.split("|")[1])
            assert f"`{module}`" in row
            existing = row.rstrip("|").split("|")[-1]
            assert hasattr(construct, "existing") == ("`" in existing), row
