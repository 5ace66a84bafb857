"""Trainings on one node of eight GPUs, without a site around them."""

from __future__ import annotations

from typing import Any

from groundplan.catalog import load_catalog
from groundplan.nemo_rl.config import Config, set_all, start
from groundplan.nemo_rl.releases import model_of, recipe_of, release_of
from groundplan.nemo_rl.training import Training


def training(model: str, memory_gb: int, settings: dict[str, Any]) -> Training:
    """A GRPO training of `model` by DTensor v0.6.0 on one node, GPUs of `memory_gb`, one sequence a micro batch."""
    catalog = load_catalog()
    release, recipe = release_of(catalog, "v0.6.0"), recipe_of(catalog, "grpo-llama3.1-8b-gsm8k")
    assert release is not None
    assert recipe is not None
    draft = start(release, recipe)
    overrides = {
        "policy.model_name": model,
        "policy.train_micro_batch_size": 1,
        "policy.dtensor_cfg.activation_checkpointing": False,
        "policy.sequence_packing.enabled": False,
        "cluster.gpus_per_node": 8,
        "cluster.num_nodes": 1,
        **settings,
    }
    set_all(draft, overrides, "user")
    return Training(
        config=Config(draft.values),
        release=release,
        recipe=recipe,
        model=model_of(model),
        overrides=overrides,
        environment={},
        nodes=1,
        nodes_written=True,
        most_nodes=8,
        gpus=8,
        gpu_memory_gb=memory_gb,
        pool="pool",
        mount_path="/lustre",
        folder="/lustre/run",
        hugging_face_token=True,
        wandb_key=True,
    )
