"""The Kueue operator's values: what its webhooks may stand in the way of."""

from __future__ import annotations

import yaml

from groundplan.platform.kueue import kueue_values
from sites import SMALL, synthesized


def test_its_webhooks_keep_to_the_jobs_namespace() -> None:
    """The chart decides by these two keys of the text: `frameworks` (Fail or Ignore) and the selector."""
    values = kueue_values("cpu-pool", "training", {})
    configuration = yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])
    assert (configuration["apiVersion"], configuration["kind"]) == ("config.kueue.x-k8s.io/v1beta2", "Configuration")
    assert configuration["integrations"] == {"frameworks": ["ray.io/rayjob", "ray.io/raycluster"]}
    assert configuration["managedJobsNamespaceSelector"] == {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["training"]}]
    }
    # What the chart's probes, services and certificates count on.
    assert configuration["health"] == {"healthProbeBindAddress": ":8081"}
    assert configuration["metrics"] == {"bindAddress": ":8443"}
    assert configuration["webhook"] == {"port": 9443}
    assert "internalCertManagement" not in configuration, "the chart fills it in, with its own names"


def test_the_queue_is_made_by_the_first_apply_or_the_next() -> None:
    """It waits for an operator that is ready, and a release that fails leaves nothing behind."""
    site = synthesized(SMALL + "platform: {kueue: {enabled: true}}\n")
    releases = site.stacks["platform"]["resource"]["helm_release"]
    assert (releases["kueue"]["wait"], releases["kueue"]["atomic"]) == (True, True)
    assert (releases["queue"]["wait"], releases["queue"]["atomic"]) == (True, True)
    assert "helm_release.kueue" in releases["queue"]["depends_on"]


def test_no_release_is_planned_or_destroyed_while_the_api_refuses() -> None:
    site = synthesized(SMALL + "platform: {kueue: {enabled: true}}\n")
    for stack, names in (("platform", {"networks", "gib", "kuberay", "kueue", "queue"}), ("workload", {"job"})):
        document = site.stacks[stack]
        assert document["data"]["kubernetes_namespace_v1"] == {"api": {"metadata": {"name": "kube-system"}}}
        releases = document["resource"]["helm_release"]
        assert set(releases) == names
        for release in releases.values():
            assert "data.kubernetes_namespace_v1.api" in release["depends_on"]
            # Helm keeps its releases in Secrets of their namespace: a caller who may not read them must be refused too.
            assert f"data.kubernetes_secret_v1.api-{release['namespace']}" in release["depends_on"]
        for name, each in document["data"]["kubernetes_secret_v1"].items():
            assert each["metadata"] == {"name": "groundplan-no-secret", "namespace": name.removeprefix("api-")}
