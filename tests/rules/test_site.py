"""Names, labels, backend, secrets, ignores; namespace, service account and operators."""

from __future__ import annotations

from rules.support import Case, findings, slugs

PROD = {"environment": "prod", "backend": {"gcs": {"bucket": "states"}}}
EXISTING = {
    "network.primary.existing": {"network": "shared", "subnetwork": "gke"},
    "network.primary.nodes": "10.0.0.0/20",
    "network.primary.pods": "10.4.0.0/14",
    "network.primary.services": "10.8.0.0/20",
}


def labels(count: int) -> dict[str, object]:
    return {"labels": {f"l{n}": "x" for n in range(count)}}


CASES = [
    # <name>-lustre is 7 longer.
    Case(
        "name-long",
        {"network.primary.name": "n" * 57},
        {"network.primary.name": "n" * 56},
        "network.primary.name",
        ("-lustre: 64 characters", "shorten the name by 1"),
    ),
    Case(
        "name-long",
        {"storage.lustre.name": "l" * 58},
        {"storage.lustre.name": "l" * 57},
        "network.private_service_access.name",
        ("address range", "63"),
    ),
    Case(
        "name-twice",
        {"gpu.pools": [{"nodes": 1}, {"nodes": 1}]},
        {"gpu.pools": [{"nodes": 1}, {"nodes": 1, "name": "b"}]},
        "gpu.pools[1].name",
        ("a4-highgpu-8g",),
    ),
    Case(
        "name-twice",
        {"gpu.pools": [{"name": "cpu-pool"}]},
        {"gpu.pools": [{"name": "cpu-pool"}], "cluster.cpu_pool.name": "default-pool"},
        "gpu.pools[0].name",
        ("cpu-pool",),
    ),
    Case(
        "name-twice",
        {"cluster.service_accounts": {"nodes": "rl-account", "workload": "rl-account"}},
        {"cluster.service_accounts": {"nodes": "rl-account", "workload": "rl-account2"}},
        "cluster.service_accounts.workload",
        ("rl-account",),
    ),
    Case(
        "name-twice",
        {"storage.buckets": [{"name": "data"}, {"name": "data"}]},
        {"storage.buckets": [{"name": "data"}, {"name": "data2"}]},
        "storage.buckets[1].name",
        ("bucket",),
    ),
    Case(
        "name-twice",
        {
            "network.firewall_rules": [
                {"name": "nemo-rl-gvnic-internal", "source_ranges": ["10.200.0.0/24"], "allow": [{"protocol": "icmp"}]}
            ]
        },
        {
            "network.firewall_rules": [
                {"name": "nemo-rl-gvnic-icmp", "source_ranges": ["10.200.0.0/24"], "allow": [{"protocol": "icmp"}]}
            ]
        },
        "gpu.gvnic",
        ("nemo-rl-gvnic-internal",),
    ),
    Case(
        "secret-name-twice",
        {"secrets": {"hugging_face": {"variable": True}, "wandb": {"secret": "hugging-face-token"}}},
        {"secrets": {"hugging_face": {"secret": "both"}, "wandb": {"secret": "both", "key": "wandb"}}},
        "secrets.wandb.secret",
        ("hugging_face",),
    ),
    Case(
        "secret-key-twice",
        {"secrets": {"hugging_face": {"secret": "both"}, "wandb": {"secret": "both"}}},
        {"secrets": {"hugging_face": {"secret": "both"}, "wandb": {"secret": "both", "key": "wandb"}}},
        "secrets.wandb.secret",
        ("same key",),
    ),
    Case(
        "secret-key-twice",
        {"secrets": {"hugging_face": {"secret": "both", "key": "k"}, "wandb": {"secret": "both", "key": "k"}}},
        {"secrets": {"hugging_face": {"variable": True, "key": "k"}, "wandb": {"variable": True, "key": "k"}}},
        "secrets.wandb.key",
        ("`key` of its own",),
    ),
    Case(
        "label-reserved",
        {"labels": {"goog-team": "x"}},
        {"labels": {"team-goog": "x"}},
        "labels.goog-team",
        ("Google",),
    ),
    Case("label-reserved", {"labels": {"site": "x"}}, {"labels": {"sites": "x"}}, "labels.site", ("itself",)),
    Case("label-count", labels(62), labels(61), "labels", ("65", "64", "remove 1")),
    Case("backend-local-prod", {"environment": "prod"}, PROD, "backend", ("gcs", "cloud")),
    Case(
        "backend-local-prod",
        {"environment": "prod", "backend": {"local": {}}},
        {"environment": "prod", "backend": {"cloud": {"organization": "acme"}}},
        "backend",
    ),
    Case(
        "backend-own-bucket",
        {**PROD, "storage.buckets": [{"name": "states"}]},
        {**PROD, "storage.buckets": [{"name": "data"}]},
        "backend.gcs.bucket",
        ("states",),
    ),
    Case(
        "secret-value",
        {"workload.overrides": {"logger.wandb.api_key": "short"}},
        {"workload.overrides": {"logger.wandb.api_key": "${WANDB}"}},
        "workload.overrides",
        ("api_key", "secrets:"),
    ),
    Case(
        "secret-value",
        {"workload.overrides": {"env": {"HF_TOKEN": "abc"}}},
        {"workload.overrides": {"env": {"pad_token": "<|endoftext|>", "stop_token": "</s>", "max_token": 5}}},
        "workload.overrides.env.HF_TOKEN",
        ("HF_TOKEN",),
    ),
    Case(
        "ignore-unknown",
        {"ignore": [{"rule": "nat-of", "reason": "a mirror in the VPC"}]},
        {"ignore": [{"rule": "nat-off", "reason": "a mirror in the VPC"}]},
        "ignore[0].rule",
        ("did you mean `nat-off`",),
    ),
    Case(
        "ignore-unknown",
        {"ignore": [{"rule": "unknown-key", "reason": "we like it so"}]},
        {"ignore": [{"rule": "fleet-ranges-alike", "reason": "never to be peered"}]},
        "ignore[0].rule",
        ("no rule",),
    ),
    Case(
        "namespace-reserved",
        {"platform.namespace": "kube-system"},
        {"platform.namespace": "kubeflow"},
        "platform.namespace",
        ("system",),
    ),
    Case(
        "namespace-shared",
        {"platform.namespace": "ray", "platform.kuberay.namespace": "ray"},
        {"platform.namespace": "default", "platform.kuberay.namespace": "default"},
        "platform.kuberay.namespace",
        ("ray",),
    ),
    Case(
        "namespace-shared",
        {"platform.namespace": "kuberay-system"},
        {"platform.namespace": "kuberay"},
        "platform.namespace",
        ("give the jobs a namespace of their own, such as nemo-rl",),
    ),
    Case(
        "namespace-shared",
        {"platform.namespace": "kueue-system", "platform.kueue.enabled": True},
        {"platform.namespace": "kueue-system"},
        "platform.namespace",
        ("such as nemo-rl",),
    ),
    Case(
        "namespace-shared",
        {"platform.namespace": "q", "platform.kueue": {"enabled": True, "namespace": "q"}},
        {"platform.namespace": "q", "platform.kueue": {"enabled": True}},
        "platform.kueue.namespace",
        ("kueue-system",),
    ),
    Case(
        "gib-release",
        {"platform.gib.version": "v1.9.9"},
        {"platform.gib": {"version": "v1.9.9", "image": "mirror.example.com/gib:v1.9.9"}},
        "platform.gib.version",
        ("v1.0.6, v1.1.0, v1.1.1, v1.1.2, v1.1.3", "use v1.1.3"),
        "warning",
    ),
    Case(
        "kueue-release",
        {"platform.kueue": {"enabled": True, "version": "0.20.0"}},
        {"platform.kueue": {"enabled": True, "version": "0.18.6"}},
        "platform.kueue.version",
        ("use 0.19.2",),
        "warning",
    ),
    Case(
        "kueue-release",
        {"platform.kueue": {"enabled": True, "version": "0.14.9"}},
        {"platform.kueue": {"enabled": False, "version": "0.14.9"}},
        "platform.kueue.version",
        ("v1beta2", "0.15"),
    ),
    Case(
        "service-account-default",
        {"platform.service_account": "default"},
        {"platform.service_account": "generic-ksa"},
        "platform.service_account",
        ("Google service account",),
        "warning",
    ),
    Case(
        "kuberay-release",
        {"platform.kuberay.version": "1.6.9"},
        {"platform.kuberay.version": "1.6.2"},
        "platform.kuberay.version",
        ("use 1.7.0",),
    ),
    Case(
        "kuberay-env",
        {"platform.kuberay.env": {"DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": "true"}},
        {"platform.kuberay.env": {"DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": "false"}},
        "platform.kuberay.env.DELETE_RAYJOB_CR_AFTER_JOB_FINISHES",
        ("trains again",),
    ),
    Case(
        "kuberay-env",
        {"platform.kuberay.env": {"ENABLE_INIT_CONTAINER_INJECTION": "true"}},
        {"platform.kuberay.env": {"ENABLE_INIT_CONTAINER_INJECTION": "false"}},
        "platform.kuberay.env.ENABLE_INIT_CONTAINER_INJECTION",
        ("256 MiB",),
        "warning",
    ),
    Case(
        "gib-image-floating",
        {**PROD, "platform.gib.image": "mirror.example.com:5000/gib"},
        {**PROD, "platform.gib.image": "mirror.example.com:5000/gib:v1.1.1"},
        "platform.gib.image",
        ("fixed tag",),
    ),
    Case(
        "gib-image-floating",
        {"platform.gib.image": "mirror.example.com/gib:latest"},
        {"platform.gib.image": "mirror.example.com/gib@sha256:" + "0" * 64},
        "platform.gib.image",
        (),
        "warning",
    ),
]


def test_an_ignored_finding_stays_with_its_reason() -> None:
    edits = {
        "network.primary.nat.enabled": False,
        "ignore": [{"rule": "nat-off", "reason": "images come from a mirror"}],
    }
    (finding,) = findings(edits)
    assert (finding.rule, finding.ignored) == ("nat-off", "images come from a mirror")


def test_ignoring_an_unknown_rule_cannot_be_ignored() -> None:
    edits = {"ignore": [{"rule": "ignore-unknown", "reason": "we know better"}]}
    (finding,) = findings(edits)
    assert (finding.rule, finding.ignored) == ("ignore-unknown", "")


def test_a_secret_is_never_echoed() -> None:
    found = findings({"workload.overrides": {"logger": {"wandb": {"api_key": "do-not-show-me"}}}})
    assert any(f.rule == "secret-value" for f in found)
    assert "do-not-show-me" not in "".join(f.message + f.hint for f in found)


def test_names_that_one_only_uses_are_not_held_against_it() -> None:
    assert "name-twice" not in slugs(EXISTING)
