"""What a Kubernetes API server and Helm refuse: no cluster behind the host, no namespace, no such kind.

Custom kinds are there only when something brought them: an operator's chart, a cluster setting. The manifests that a
pass-through chart carries in its values are checked like objects of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from staged_terraform.computed_values import first, values_at
from staged_terraform.cty_values import UNKNOWN
from staged_terraform.simulated_cloud import Refused, RemoteObject, SimulatedCloud

#: libyaml's loader where PyYAML has it: ten times faster than the pure one.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Object = dict[str, Any]

_NAMESPACE_TYPES = ("kubernetes_namespace_v1", "kubernetes_namespace")


def cluster_of(cloud: SimulatedCloud, host: object, provider: str) -> RemoteObject:
    """The cluster that a provider's configured host reaches. Raises Refused."""
    if not isinstance(host, str) or not host:
        raise Refused(
            "cannot create REST client: no client config"
            if provider == "kubernetes"
            else "Kubernetes cluster unreachable: invalid configuration: no configuration has been provided",
            f"the {provider} provider's host is not known: its cluster is not there yet, or is made by this very stack",
        )
    cluster = cloud.cluster_at(host)
    if cluster is None:
        raise Refused(
            f'Get "{host.rstrip("/")}/api": dial tcp: connect: connection refused',
            f"no cluster of this rehearsal answers at {host}",
        )
    return cluster


def check(cloud: SimulatedCloud, remote: RemoteObject) -> None:
    """Namespace, kinds and chart of an object that is about to be written. Raises Refused."""
    namespace = first(remote.state, "metadata.namespace")
    if remote.type == "helm_release":
        namespace = remote.state.get("namespace")
        if remote.state.get("create_namespace") is True:
            namespace = None
        _check_chart(cloud, remote)
        for manifest in manifests(remote.state):
            _check_kind(cloud, remote, manifest)
    elif remote.type == "kubernetes_manifest":
        body = remote.state.get("manifest")
        manifest = body[1] if isinstance(body, list) and len(body) == 2 else {}
        if isinstance(manifest, dict):
            _check_kind(cloud, remote, manifest)
            namespace = (manifest.get("metadata") or {}).get("namespace")
    if isinstance(namespace, str) and not has_namespace(cloud, remote.cluster, namespace):
        raise Refused(
            f'namespaces "{namespace}" not found', f"{remote.type} needs the namespace {namespace} to be made before it"
        )


def has_namespace(cloud: SimulatedCloud, cluster: str, namespace: str) -> bool:
    if namespace in cloud.facts.namespaces:
        return True
    if any(cloud.find(each, namespace, cluster) for each in _NAMESPACE_TYPES):
        return True
    return any(
        each.state.get("create_namespace") is True and each.state.get("namespace") == namespace
        for each in cloud.of_type("helm_release", cluster)
    )


def manifests(release: Object) -> Iterator[Object]:
    """Kubernetes objects anywhere in a release's values. Raises Refused for values that are not YAML."""
    for text in release.get("values") or []:
        if text is UNKNOWN or not isinstance(text, str):
            continue
        try:
            # JSON is the usual form, and the fast one; YAML 1.2 holds it, PyYAML is only slow on it.
            document = yaml.load(text, Loader=_LOADER)
        except yaml.YAMLError as problem:
            raise Refused("---> values.yaml: cannot be parsed as YAML", str(problem)) from None
        yield from _objects(document)


def _objects(value: Any) -> Iterator[Object]:
    if isinstance(value, dict):
        if isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str):
            yield value
            return
        for each in value.values():
            yield from _objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)


def _check_kind(cloud: SimulatedCloud, remote: RemoteObject, manifest: Object) -> None:
    version, kind = str(manifest.get("apiVersion", "")), str(manifest.get("kind", ""))
    group = version.partition("/")[0] if "/" in version else ""
    rule = next((each for each in cloud.facts.custom_kinds if each["group"] == group), None)
    if rule is None or (rule.get("kinds") and kind not in rule["kinds"]):
        _check_parameters(cloud, manifest)
        return
    cluster = next((each for each in cloud.of_type("google_container_cluster") if each.id == remote.cluster), None)
    by_cluster = bool(rule.get("cluster")) and cluster is not None and True in values_at(cluster.state, rule["cluster"])
    by_chart = bool(rule.get("chart")) and any(
        rule["chart"] in str(each.state.get("chart", "")).rstrip("/").rpartition("/")[2]
        for each in cloud.of_type("helm_release", remote.cluster)
    )
    if not by_cluster and not by_chart:
        brings = [f"the chart {rule['chart']}"] if rule.get("chart") else []
        brings += [f"{rule['cluster']} on the cluster"] if rule.get("cluster") else []
        raise Refused(
            f'unable to build kubernetes objects from release manifest: no matches for kind "{kind}" in version '
            f'"{version}": ensure CRDs are installed first',
            f"{kind} comes with {' or '.join(brings)}, which must be there first",
        )
    _check_parameters(cloud, manifest)


def _check_parameters(cloud: SimulatedCloud, manifest: Object) -> None:
    """A GKENetworkParamSet names a VPC and a subnetwork of it, by name."""
    if manifest.get("kind") != "GKENetworkParamSet":
        return
    spec = manifest.get("spec") or {}
    for key, type_name in (("vpc", "google_compute_network"), ("vpcSubnet", "google_compute_subnetwork")):
        name = spec.get(key)
        if isinstance(name, str) and not cloud.exists(type_name, name):
            raise Refused(
                f"GKENetworkParamSet {(manifest.get('metadata') or {}).get('name')}: {key} {name} was not found",
                f"it names a {type_name} that is not there",
            )


def chart_version(cloud: SimulatedCloud, release: Object) -> str | None:
    """The version of a release's chart, as its own Chart.yaml has it; None when it is not a local folder."""
    chart = release.get("chart")
    if release.get("repository") or not isinstance(chart, str) or cloud.folder is None:
        return None
    file = cloud.folder / chart / "Chart.yaml"
    if not file.is_file():
        return None
    found = yaml.load(file.read_text("utf-8"), Loader=_LOADER)
    return str(found["version"]) if isinstance(found, dict) and found.get("version") else None


def _check_chart(cloud: SimulatedCloud, remote: RemoteObject) -> None:
    chart = str(remote.state.get("chart") or "")
    if remote.state.get("repository") or "://" in chart or cloud.folder is None:
        return
    if not (cloud.folder / chart / "Chart.yaml").is_file() and not (
        chart.endswith(".tgz") and (cloud.folder / chart).is_file()
    ):
        raise Refused(
            f'could not locate chart: path "{chart}" not found',
            "a local chart is looked for from the folder Terraform runs in; write it beside the stack",
        )
