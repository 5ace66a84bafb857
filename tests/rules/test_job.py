"""One input that trips each rule of the job, and a near twin that does not; tests/workload/ has the rest of each."""

from __future__ import annotations

from typing import Any

from rules.support import Case

SMOKE = "grpo-qwen2.5-1.5b-gsm8k-smoke"
LLAMA = "grpo-llama3.1-8b-gsm8k"
TOKEN = {"secrets.hugging_face": {"variable": True}}
TORCH_SAVE = {"checkpointing.model_save_format": "torch_save"}
TP_FOUR = {"policy.dtensor_cfg.tensor_parallel_size": 4}
NO_TOKEN = {"secrets.hugging_face": None}
VLLM = "policy.generation.vllm_cfg"
APART = {
    "policy.generation.colocated.enabled": False,
    "policy.generation.colocated.resources.gpus_per_node": 8,
}
UNPACKED = {"policy.dynamic_batching.enabled": False, "policy.sequence_packing.enabled": False}
QUEUED = {
    "reservation": None,
    "gpu.pools[0].autoscaling": {"min": 0, "max": 2},
    "workload.startup_minutes": 1440,
    "workload.recipe": SMOKE,
}


def given(recipe: str = SMOKE, **workload: Any) -> dict[str, Any]:
    """A small job with keys of `workload:`."""
    return {"workload.recipe": recipe, **{f"workload.{key}": value for key, value in workload.items()}}


def over(overrides: dict[str, Any], recipe: str = SMOKE, **workload: Any) -> dict[str, Any]:
    """A small job with values over the recipe's."""
    return given(recipe, overrides=overrides, **workload)


def at(path: str) -> str:
    return f"workload.overrides.{path}"


CASES = [
    Case("job-name", given(name="a" * 39), given(name="a" * 38), "workload.name", ("39", "38")),
    Case("job-image", given(image="r.io/rl:v0.5.0"), given(image="r.io/rl:v0.6.0"), "workload.image", ("v0.5.0",)),
    Case(
        "cuda-driver",
        given(release="v0.7.0"),
        {**given(release="v0.7.0"), "gpu.pools[0].driver": "LATEST"},
        "workload.release",
        ("CUDA", "R580"),
        "warning",
    ),
    Case(
        "job-environment",
        given(environment={"CUDA_VISIBLE_DEVICES": "0"}),
        given(environment={"MY_SETTING": "0"}),
        "workload.environment.CUDA_VISIBLE_DEVICES",
        ("leave it out",),
    ),
    Case(
        "retries-checkpoints",
        given(retries=1, overrides={"checkpointing.enabled": False}),
        given(retries=1, overrides={"checkpointing.enabled": True}),
        "workload.retries",
        ("starts from nothing",),
        "warning",
    ),
    Case(
        "export-backend",
        given(export={"enabled": True}, overrides={"checkpointing.enabled": False}),
        given(export={"enabled": True}, overrides=TORCH_SAVE),
        at("checkpointing.enabled"),
        ("needs checkpointing.enabled true",),
    ),
    Case(
        "export-backend",
        given(export={"enabled": True}, overrides={"checkpointing.save_consolidated": False}),
        given(export={"enabled": True}),
        at("checkpointing.save_consolidated"),
        ("sharded safetensors", "torch_save"),
    ),
    Case(
        "export-backend",
        given(export={"enabled": True}, overrides=TORCH_SAVE, release="v0.5.0"),
        given(export={"enabled": True}, overrides=TORCH_SAVE),
        at("checkpointing.model_save_format"),
        ("v0.5.0 cannot read", "safetensors"),
    ),
    Case(
        "export-backend",
        given(export={"enabled": True}, overrides={"policy.dtensor_cfg.lora_cfg.enabled": True}),
        given(export={"enabled": True}),
        at("policy.dtensor_cfg.lora_cfg.enabled"),
        ("no converter",),
    ),
    Case(
        "export-memory",
        given(LLAMA, export={"enabled": True}, overrides=TORCH_SAVE, worker={"memory": "30G", "shm": "6G"}),
        given(LLAMA, export={"enabled": True}, overrides=TORCH_SAVE, worker={"memory": "50G", "shm": "6G"}),
        "workload.worker.memory",
        ("needs 32 GB", "24 GB"),
    ),
    Case(
        "kuberay-feature",
        {**given(startup_minutes=30), "platform.kuberay.version": "1.5.2"},
        {**given(startup_minutes=30), "platform.kuberay.version": "1.6.2"},
        "workload.startup_minutes",
        ("1.5.2", "drops it"),
        "warning",
    ),
    Case(
        "kuberay-feature",
        {**given(preflight={"enabled": True}), "platform.kuberay.version": "1.5.2"},
        {**given(preflight={"enabled": True}), "platform.kuberay.version": "1.6.2"},
        "workload.preflight.enabled",
        ("tried again", "24 hours"),
        "warning",
    ),
    Case(
        "resume-from",
        over({"checkpointing.checkpoint_dir": "/data/mine"}, resume_from="old-job"),
        given(resume_from="old-job"),
        "workload.resume_from",
        ("old-job", "/data/mine"),
    ),
    Case(
        "resume-from",
        over({"checkpointing.enabled": False}, resume_from="old-job"),
        over({"checkpointing.enabled": True}, resume_from="old-job"),
        "workload.resume_from",
        ("none is loaded",),
    ),
    Case(
        "job-suspend",
        {**given(suspend=True), "platform.kueue.enabled": True},
        given(suspend=True),
        "workload.suspend",
        ("Kueue's",),
        "warning",
    ),
    Case(
        "job-suspend",
        over({"checkpointing.enabled": False}, suspend=True),
        over({"checkpointing.enabled": True}, suspend=True),
        "workload.suspend",
        ("starts over",),
        "warning",
    ),
    Case(
        "cluster-mode",
        given(mode="cluster", deadline_hours=4),
        given(mode="cluster"),
        "workload.deadline_hours",
        ("no effect",),
        "warning",
    ),
    Case("job-pool", given(nodes=3), given(nodes=2), "workload.nodes", ("at most 2",)),
    Case(
        "worker-resources",
        given(worker={"cpu": 16}),
        given(worker={"cpu": 17}),
        "workload.worker.cpu",
        ("2 x 8 GPUs + 1 = 17",),
    ),
    Case(
        "head-resources",
        given(head={"cpu": 15}),
        given(head={"cpu": 14}),
        "workload.head.cpu",
        ("n2-highmem-16", "at most 14"),
    ),
    Case(
        "queued-needs-kueue",
        {**QUEUED, "gpu.pools[0].capacity": "queued"},
        {**QUEUED, "gpu.pools[0].capacity": "flex_start"},
        "gpu.pools[0].capacity",
        ("platform.kueue.enabled: true",),
        "warning",
    ),
    Case(
        "topology-empty-pool",
        {**QUEUED, "gpu.pools[0].capacity": "queued", "platform.kueue": {"enabled": True}},
        {**QUEUED, "gpu.pools[0].capacity": "queued", "platform.kueue": {"enabled": True, "topology": "none"}},
        "platform.kueue.topology",
        ("existing nodes only",),
        "warning",
    ),
    Case(
        "dynamic-deadlines",
        {**QUEUED, "gpu.pools[0].capacity": "flex_start", "workload.deadline_hours": 200},
        {**QUEUED, "gpu.pools[0].capacity": "flex_start", "workload.deadline_hours": 168},
        "gpu.pools[0]",
        ("168 hours",),
        "warning",
    ),
    Case(
        "unknown-recipe", given("grpo-llama3.1-8b-gsm8"), given(LLAMA), "workload.recipe", (f"did you mean `{LLAMA}`",)
    ),
    Case(
        "release-unconfirmed",
        given(release="v0.8.0"),
        given(release="v0.7.0"),
        "workload.release",
        ("configuration keys",),
        "warning",
    ),
    Case(
        "config-key",
        given(release="v0.8.0", overrides={"grpo.val_start_at": 5}),
        given(release="v0.8.0", overrides={"++grpo.val_start_at": 5}),
        at("grpo.val_start_at"),
        ("not confirmed", "v0.7.0 has no such key", "`++grpo.val_start_at`"),
        "warning",
    ),
    Case(
        "gib-nccl",
        {**given(release="v0.6.0"), "platform.gib.version": "v1.1.1"},
        {**given(release="v0.7.0"), "platform.gib.version": "v1.1.1"},
        "platform.gib.version",
        ("NCCL 2.27.5", "`platform.gib.version: v1.1.2`"),
        "warning",
    ),
    Case("unknown-release", given(release="v0.6.1"), given(release="v0.6.0"), "workload.release", ("v0.6.0",)),
    Case(
        "config-key",
        over({"grpo.max_num_step": 5}),
        over({"grpo.max_num_steps": 5}),
        at("grpo.max_num_step"),
        ("did you mean `grpo.max_num_steps`",),
    ),
    Case(
        "config-type",
        over({"grpo.max_num_steps": "5"}),
        over({"grpo.max_num_steps": 5}),
        at("grpo.max_num_steps"),
        ("must be a whole number",),
    ),
    Case(
        "config-choice",
        over({"data.train.dataset_name": "GSM8K"}),
        given(overrides={"data.train.dataset_name": "GSM8K"}, release="v0.7.0"),
        at("data.train.dataset_name"),
        ("`GSM8K`", "v0.6.0 does not know", "response_datasets/__init__.py"),
    ),
    Case(
        "config-sweep",
        over({"grpo.seed": "choice(1,2)"}),
        over({"grpo.seed": 1}),
        at("grpo.seed"),
        ("is a sweep",),
    ),
    Case(
        "config-twice",
        over({"grpo.seed": 1, "grpo": {"seed": 2}}),
        over({"grpo.seed": 1}),
        "workload.overrides.grpo",
        ("grpo.seed",),
    ),
    Case(
        "config-bounds",
        over({"grpo.max_num_steps": 0}),
        over({"grpo.max_num_steps": 1}),
        at("grpo.max_num_steps"),
        ("at least 1",),
    ),
    Case(
        "training-backend",
        over({"policy.dtensor_cfg.enabled": False}),
        over({"policy.dtensor_cfg.enabled": True}),
        at("policy.dtensor_cfg.enabled"),
        ("both are false",),
    ),
    Case(
        "model-parallel",
        over({"policy.dtensor_cfg.tensor_parallel_size": 3}),
        over({"policy.dtensor_cfg.tensor_parallel_size": 2}),
        at("policy.dtensor_cfg.tensor_parallel_size"),
        ("1 x 8 = 8 training GPUs", "`policy.dtensor_cfg.tensor_parallel_size` 3", "_size: 2`"),
    ),
    Case(
        "batch-size",
        over({"policy.train_global_batch_size": 20}),
        over({"policy.train_global_batch_size": 32}),
        at("policy.train_global_batch_size"),
        ("20 is not divisible by 8",),
    ),
    Case(
        "micro-batch",
        over({**UNPACKED, "policy.train_global_batch_size": 16, "policy.train_micro_batch_size": 4}),
        over({**UNPACKED, "policy.train_global_batch_size": 16, "policy.train_micro_batch_size": 2}),
        at("policy.train_micro_batch_size"),
        ("16 / data parallel 8 = 2",),
    ),
    Case(
        "generation-parallel",
        over({f"{VLLM}.tensor_parallel_size": 3}),
        over({f"{VLLM}.tensor_parallel_size": 2}),
        at(f"{VLLM}.tensor_parallel_size"),
        ("8 generating GPUs",),
    ),
    Case(
        "sequence-batching",
        over({"policy.sequence_packing.enabled": True, "policy.dynamic_batching.enabled": True}),
        over({"policy.sequence_packing.enabled": False, "policy.dynamic_batching.enabled": True}),
        at("policy.dynamic_batching.enabled"),
        ("are both true", "`policy.dynamic_batching.enabled: false`"),
    ),
    Case(
        "logprob-micro-batch",
        over(
            {
                "policy.dtensor_cfg.tensor_parallel_size": 4,
                "policy.logprob_batch_size": 2,
                "policy.train_micro_batch_size": 1,
            }
        ),
        over(
            {
                "policy.dtensor_cfg.tensor_parallel_size": 4,
                "policy.logprob_batch_size": 1,
                "policy.train_micro_batch_size": 1,
            }
        ),
        at("policy.logprob_batch_size"),
        ("TP 4", "`policy.logprob_batch_size: 1`"),
    ),
    Case(
        "generation-split",
        over({**APART, "policy.generation.colocated.resources.num_nodes": 2}, nodes=2),
        over({**APART, "policy.generation.colocated.resources.num_nodes": 1}, nodes=2),
        at("policy.generation.colocated.resources.num_nodes"),
        ("1 to 1 of 2 nodes",),
    ),
    Case(
        "async-grpo",
        over({"grpo.async_grpo.enabled": True}),
        over({"grpo.async_grpo.enabled": False}),
        at("grpo.async_grpo.enabled"),
        ("apart from training",),
    ),
    Case(
        "fp8-generation",
        over({f"{VLLM}.precision": "fp8", "loss_fn.use_importance_sampling_correction": False}),
        over({f"{VLLM}.precision": "fp8", "loss_fn.use_importance_sampling_correction": True}),
        at(f"{VLLM}.precision"),
        ("use_importance_sampling_correction",),
    ),
    Case(
        "validation-set",
        over({"data.validation": None, "grpo.val_period": 5}),
        over({"data.validation": None, "grpo.val_period": -1, "grpo.val_at_start": False, "grpo.val_at_end": False}),
        at("data.validation"),
        ("there is no validation set",),
    ),
    Case(
        "sampling",
        over({"grpo.batch_multiplier": 2}),
        over({"grpo.batch_multiplier": 1}),
        at("grpo.batch_multiplier"),
        ("use_dynamic_sampling",),
    ),
    Case(
        "shared-folders",
        over({"checkpointing.enabled": True, "checkpointing.checkpoint_dir": "/tmp/run"}),
        over({"checkpointing.enabled": True, "checkpointing.checkpoint_dir": "/data/run"}),
        at("checkpointing.checkpoint_dir"),
        ("/tmp/run",),
    ),
    Case(
        "wandb-key",
        over({"logger.wandb_enabled": True}),
        {**over({"logger.wandb_enabled": True}), "secrets.wandb": {"variable": True}},
        at("logger.wandb_enabled"),
        ("secrets.wandb",),
    ),
    Case(
        "gated-model", {**given(LLAMA), **NO_TOKEN}, {**given(LLAMA), **TOKEN}, "workload.recipe", ("names no token",)
    ),
    Case(
        "model-fit",
        {**over({"policy.model_name": "meta-llama/Llama-3.3-70B-Instruct"}), **TOKEN},
        {**over({"policy.model_name": "meta-llama/Llama-3.1-8B-Instruct"}), **TOKEN},
        at("policy.model_name"),
        ("70",),
        "error",
    ),
    Case(
        "cluster-shape",
        over({"cluster.num_nodes": 2}),
        over({"cluster.num_nodes": 1}),
        at("cluster.num_nodes"),
        ("set `workload.nodes: 2`",),
    ),
    Case(
        "vllm-length",
        over({f"{VLLM}.max_model_len": 512}),
        over({f"{VLLM}.max_model_len": 1024}),
        at(f"{VLLM}.max_model_len"),
        ("512 is below policy.max_total_sequence_length 1024",),
        "warning",
    ),
    Case(
        "config-file",
        {"workload.config": "no-such.yaml"},
        given(),
        "workload.config",
        ("no-such.yaml", "cannot be read"),
    ),
    Case(
        "entry-script",
        given(script="examples/run_ppo.py"),
        given(script="examples/run_vlm_grpo.py"),
        "workload.script",
        ("v0.6.0 has no examples/run_ppo.py", "examples/run_grpo.py"),
    ),
    Case(
        "script-unjudged",
        given(script="examples/run_sft.py"),
        given(script="examples/run_vlm_grpo.py"),
        "workload.script",
        ("trains by sft",),
        "warning",
    ),
    Case(
        "local-model",
        over({"policy.model_name": "/models/qwen"}),
        over({"policy.model_name": "/data/models/qwen"}),
        at("policy.model_name"),
        ("/models/qwen", "`policy.model_name: /data/models/qwen`"),
    ),
    Case(
        "local-caches",
        given(environment={"HF_HUB_CACHE": "/tmp/hub"}),
        given(environment={"HF_HUB_CACHE": "/data/hub"}),
        "workload.environment.HF_HUB_CACHE",
        ("each node downloads anew",),
        "warning",
    ),
    Case(
        "local-caches",
        given(environment={"NEMO_RL_VENV_DIR": "/tmp/venvs"}),
        given(environment={"NEMO_RL_VENV_DIR": "/opt/ray_venvs"}),
        "workload.environment.NEMO_RL_VENV_DIR",
        ("/opt/ray_venvs", "on each node"),
        "warning",
    ),
    Case(
        "offline-models",
        given(environment={"HF_HUB_OFFLINE": "1"}),
        given(environment={"HF_HUB_OFFLINE": "0"}),
        "workload.environment.HF_HUB_OFFLINE",
        ("Qwen/Qwen2.5-1.5B", "data set gsm8k"),
        "warning",
    ),
    Case(
        "config-required",
        over({"~checkpointing.save_period": None}, release="v0.7.0"),
        over({"~checkpointing.save_period": None}, release="v0.6.0"),
        at("~checkpointing.save_period"),
        ("`checkpointing.save_period`", "v0.7.0", "`checkpointing.save_period: 10`"),
    ),
    Case(
        "config-needed",
        over({"~policy.model_name": None}),
        over({"policy.model_name": "Qwen/Qwen2.5-1.5B-Instruct"}),
        at("~policy.model_name"),
        ("cannot do without `policy.model_name`",),
    ),
]
