"""What must hold for any profile.

Nonsense is refused without a traceback; what passes has ranges that are apart and large enough, counted here a second
time and in another way.
"""

from __future__ import annotations

import ipaddress
import math
import re
import string
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from findings import Finding, Severity
from groundplan.site.check import check_file
from groundplan.site.profile import Profile
from rules.support import Plain, text_of
from sites import synthesized

FAST = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


def every_key() -> list[str]:
    """Every key of a profile anywhere, for nonsense that gets past the first gate."""
    found: set[str] = set()

    def walk(schema: Any) -> None:
        if isinstance(schema, dict):
            found.update(schema.get("properties", {}))
            for value in schema.values():
                walk(value)
        elif isinstance(schema, list):
            for value in schema:
                walk(value)

    walk(Profile.model_json_schema())
    return sorted(found)


KEYS = every_key()
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.text(alphabet="0123456789./", max_size=18),
    st.sampled_from(
        ["a4-highgpu-8g", "us-central1-b", "10.0.0.0/20", "0.0.0.0/0", "1.33", "240Gi", "FREQ=DAILY", "x" * 70]
    ),
)
NONSENSE = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=6)), inner, max_size=5),
    ),
    max_leaves=25,
)


FILE = Path(tempfile.mkdtemp(prefix="groundplan-")) / "any.yaml"


def judged(text: str) -> list[Finding]:
    """All findings; never anything but findings."""
    FILE.write_text(text, "utf-8")
    return check_file(FILE).findings


@FAST
@given(st.text(alphabet=string.printable, max_size=200))
def test_any_text_gives_findings_and_no_traceback(text: str) -> None:
    assert any(f.severity is Severity.ERROR for f in judged(text))


@FAST
@given(NONSENSE)
def test_any_data_gives_findings_and_no_traceback(data: Any) -> None:
    assert any(f.severity is Severity.ERROR for f in judged(yaml.safe_dump(data, allow_unicode=True)))


@FAST
@given(st.dictionaries(st.sampled_from(sorted(Profile.model_fields)), NONSENSE, max_size=4))
def test_nonsense_in_a_section_gives_findings_and_no_traceback(sections: dict[str, Any]) -> None:
    data = {"project": "my-project", "zone": "us-central1-b", "reservation": "mine"} | sections
    for finding in judged(yaml.safe_dump(data, allow_unicode=True)):
        assert finding.message
        assert finding.location is None or finding.location.line >= 1


@FAST
@given(st.binary(max_size=80))
def test_any_file_gives_findings_and_no_traceback(content: bytes) -> None:
    FILE.write_bytes(content)
    assert check_file(FILE).findings


SCHEMA = Profile.model_json_schema()


def shaped(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a JSON Schema as profiles use it: of the right shape, whatever they mean."""
    if "$ref" in schema:
        return shaped(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return st.one_of([shaped(option) for option in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        parts = {key: shaped(value) for key, value in schema["properties"].items()}
        needed = schema.get("required", [])
        return st.fixed_dictionaries(
            {key: parts[key] for key in needed}, optional={k: v for k, v in parts.items() if k not in needed}
        )
    if kind == "object":
        keys = shaped({"type": "string"} | schema.get("propertyNames", {}))
        values = (
            shaped(schema["additionalProperties"]) if isinstance(schema.get("additionalProperties"), dict) else SCALARS
        )
        return st.dictionaries(keys, values, max_size=3)
    if kind == "array":
        return st.lists(shaped(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "integer":
        return st.integers(schema.get("minimum", 0), schema.get("maximum", 10**6))
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    if "pattern" in schema and "[0-9]{1,3}(" in schema["pattern"]:
        return cidr(8, 30)
    if "pattern" in schema:
        return st.from_regex(re.compile(schema["pattern"].strip("^$"), re.ASCII), fullmatch=True)
    if schema.get("format") == "ipv4":
        return st.ip_addresses(v=4).map(str)
    return st.text(min_size=schema.get("minLength", 0), max_size=20) if kind == "string" else SCALARS


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.deferred(lambda: shaped({**SCHEMA, "$defs": {}})))
def test_any_profile_of_the_right_shape_is_judged_without_traceback(data: dict[str, Any]) -> None:
    for finding in judged(yaml.dump(data, Dumper=Plain, allow_unicode=True)):
        assert finding.message
        assert finding.hint


@st.composite
def cidr(draw: st.DrawFn, low: int = 10, high: int = 29) -> str:
    prefix = draw(st.integers(low, high))
    second = draw(st.integers(0, 255))
    base = draw(st.sampled_from(["10.{}.0.0", "172.{}.0.0", "192.168.{}.0", "240.{}.0.0", "100.{}.0.0"])).format(second)
    return str(ipaddress.IPv4Network((base, prefix), strict=False))


COUNTS = st.one_of(st.integers(0, 40), st.sampled_from([60, 61, 124, 252, 253, 508, 1020]))
PODS = st.one_of(st.none(), st.integers(8, 256))


#: Values round the defaults and round the edges of what fits: about half of what comes out is accepted.
SITES = st.fixed_dictionaries(
    {"gpu.pools[0].nodes": COUNTS},
    optional={
        "gpu.pools[1]": st.fixed_dictionaries({"name": st.just("second"), "nodes": COUNTS, "max_pods_per_node": PODS}),
        "cluster.max_pods_per_node": st.integers(8, 256),
        "cluster.cpu_pool.max_nodes": st.integers(1, 30),
        "cluster.cpu_pool.max_pods_per_node": st.integers(8, 256),
        "cluster.control_plane.cidr": st.one_of(cidr(28, 28), st.just("172.16.0.32/28")),
        "network.primary.nodes": st.one_of(cidr(18, 29), st.integers(22, 29).map(lambda n: f"10.0.0.0/{n}")),
        "network.primary.pods": st.one_of(cidr(10, 24), st.integers(14, 22).map(lambda n: f"10.4.0.0/{n}")),
        "network.primary.services": st.one_of(cidr(14, 29), st.integers(16, 28).map(lambda n: f"10.8.0.0/{n}")),
        "network.private_service_access.address": st.sampled_from(
            ["10.9.0.0", "10.4.0.0", "172.16.0.0", "192.168.0.0"]
        ),
        "network.private_service_access.prefix_length": st.integers(18, 26),
        "network.peers": st.lists(
            st.fixed_dictionaries({"name": st.just("p"), "ranges": st.lists(cidr(8, 28), min_size=1, max_size=2)}),
            max_size=2,
        ),
        "gpu.gvnic.cidr": st.one_of(cidr(20, 29), st.integers(24, 29).map(lambda n: f"192.168.0.0/{n}")),
        "gpu.rdma.cidrs": st.sampled_from([20, 22, 24, 26, 28]).map(
            lambda n: [str(net) for net in list(ipaddress.IPv4Network(f"10.64.0.0/{n - 3}").subnets(new_prefix=n))]
        ),
    },
)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(SITES)
def test_an_accepted_profile_has_ranges_apart_and_large_enough(edits: dict[str, Any]) -> None:
    if any(f.severity is Severity.ERROR and f.rule not in ("job-pool",) for f in judged(text_of(edits))):
        return
    data = edits
    primary = {
        "nodes": data.get("network.primary.nodes", "10.0.0.0/20"),
        "pods": data.get("network.primary.pods", "10.4.0.0/14"),
        "services": data.get("network.primary.services", "10.8.0.0/20"),
        "access": f"{data.get('network.private_service_access.address', '10.9.0.0')}/"
        f"{data.get('network.private_service_access.prefix_length', 20)}",
        "gvnic": data.get("gpu.gvnic.cidr", "192.168.0.0/24"),
    }
    rdma = data.get("gpu.rdma.cidrs", [f"192.168.{n}.0/24" for n in range(1, 9)])
    own = {name: ipaddress.IPv4Network(text) for name, text in primary.items()}
    own |= {f"rdma{n}": ipaddress.IPv4Network(text) for n, text in enumerate(rdma)}
    if "cluster.control_plane.cidr" in data:
        own["control plane"] = ipaddress.IPv4Network(data["cluster.control_plane.cidr"])
    for one, two in combinations(own, 2):
        assert not own[one].overlaps(own[two]), (one, two)
    for peer in data.get("network.peers", []):
        for text in peer["ranges"]:
            assert not any(ipaddress.IPv4Network(text).overlaps(net) for net in own.values())

    default = data.get("cluster.max_pods_per_node", 110)
    pools = [(data["gpu.pools[0].nodes"], default)]
    if "gpu.pools[1]" in data:
        second = data["gpu.pools[1]"]
        pools.append((second["nodes"], second["max_pods_per_node"] or default))
    gpu_nodes = sum(count for count, _ in pools)
    cpu_nodes = data.get("cluster.cpu_pool.max_nodes", 5) + 1
    pools.append((cpu_nodes, data.get("cluster.cpu_pool.max_pods_per_node", 110)))
    pods = sum(count * 2 ** math.ceil(math.log2(2 * most)) for count, most in pools)
    assert 2 ** (32 - own["pods"].prefixlen) >= pods
    usable = 2 ** (32 - own["nodes"].prefixlen) - 4
    assert usable >= gpu_nodes + cpu_nodes
    for name in ("gvnic", *(f"rdma{n}" for n in range(8))):
        assert 2 ** (32 - own[name].prefixlen) - 4 >= gpu_nodes


def test_both_outcomes_are_met() -> None:
    """The strategy above is no good if it accepts, or refuses, everything."""
    outcomes = set()

    @settings(max_examples=120, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(SITES)
    def sample(edits: dict[str, Any]) -> None:
        outcomes.add(any(f.severity is Severity.ERROR and f.rule != "job-pool" for f in judged(text_of(edits))))

    sample()
    assert outcomes == {True, False}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(SITES)
def test_an_accepted_profile_can_be_synthesized(edits: dict[str, Any]) -> None:
    text = text_of(edits)
    if any(f.severity is Severity.ERROR for f in judged(text)):
        return
    site = synthesized(text)
    ranges = [subnetwork["ip_cidr_range"] for subnetwork in site.resources("google_compute_subnetwork").values()]
    assert len(ranges) == len(set(ranges)) == 10
