"""The shape of a training: how its GPUs are divided, and how its samples divide over them."""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.nemo_rl.config import Config


@dataclass(frozen=True)
class Shape:
    """Counts that NeMo RL derives from its configuration. W is `training_gpus`.

    `backend` is ``dtensor``, ``megatron``, or empty when not exactly one is on; parallel sizes are that backend's.
    """

    nodes: int
    gpus_per_node: int
    colocated: bool
    generation_gpus: int
    training_gpus: int
    backend: str
    tp: int
    pp: int
    cp: int
    ep: int
    etp: int
    vllm_tp: int
    vllm_pp: int
    vllm_ep: int
    prompts: int
    generations: int
    global_batch: int
    micro_batch: int
    logprob_batch: int
    sequence: int

    @property
    def model_parallel(self) -> int:
        """GPUs that hold one copy of the model."""
        return self.tp * self.pp * self.cp

    @property
    def data_parallel(self) -> int:
        """Copies of the model; 0 when the GPUs do not divide."""
        whole = self.training_gpus > 0 and self.training_gpus % self.model_parallel == 0
        return self.training_gpus // self.model_parallel if whole else 0

    @property
    def samples(self) -> int:
        """Samples of one step."""
        return self.prompts * self.generations


def sizes_of(shape: Shape) -> tuple[str, ...]:
    """Paths of the numbers that a shape of its backend rests on, and that count from 1."""
    group = f"policy.{shape.backend or 'dtensor'}_cfg"
    sizes = ["tensor_parallel_size", "context_parallel_size", "expert_parallel_size"]
    if shape.backend == "megatron":
        sizes = ["tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"]
        sizes += ["expert_model_parallel_size", "expert_tensor_parallel_size"]
    vllm = ("tensor_parallel_size", "pipeline_parallel_size", "expert_parallel_size")
    return (
        "cluster.num_nodes",
        "cluster.gpus_per_node",
        "grpo.num_prompts_per_step",
        "grpo.num_generations_per_prompt",
        "policy.train_global_batch_size",
        "policy.train_micro_batch_size",
        "policy.logprob_batch_size",
        "policy.max_total_sequence_length",
        *(f"{group}.{size}" for size in sizes),
        *(f"policy.generation.vllm_cfg.{size}" for size in vllm),
    )


def shape_of(config: Config) -> Shape:
    """The shape that a configuration asks for; what is no positive number counts as 1."""
    nodes, per_node = config.count("cluster.num_nodes"), config.count("cluster.gpus_per_node")
    colocated = config.get("policy.generation.colocated.enabled") is not False
    resources = "policy.generation.colocated.resources"
    if colocated:
        generation = 0
    elif nodes == 1:
        generation = config.count(f"{resources}.gpus_per_node", 0)
    else:
        generation = config.count(f"{resources}.num_nodes", 0) * per_node
    dtensor, megatron = config.on("policy.dtensor_cfg.enabled"), config.on("policy.megatron_cfg.enabled")
    backend = "megatron" if megatron and not dtensor else "dtensor" if dtensor and not megatron else ""
    group = f"policy.{backend or 'dtensor'}_cfg"
    prefix = f"{group}.tensor_model" if backend == "megatron" else f"{group}.tensor"
    vllm = "policy.generation.vllm_cfg"
    micro = config.count("policy.train_micro_batch_size")
    return Shape(
        nodes=nodes,
        gpus_per_node=per_node,
        colocated=colocated,
        generation_gpus=nodes * per_node if colocated else generation,
        training_gpus=nodes * per_node - generation,
        backend=backend,
        tp=config.count(f"{prefix}_parallel_size"),
        pp=config.count(f"{group}.pipeline_model_parallel_size") if backend == "megatron" else 1,
        cp=config.count(f"{group}.context_parallel_size"),
        ep=config.count(f"{group}.{'expert_model' if backend == 'megatron' else 'expert'}_parallel_size"),
        etp=config.count(f"{group}.expert_tensor_parallel_size") if backend == "megatron" else 1,
        vllm_tp=config.count(f"{vllm}.tensor_parallel_size"),
        vllm_pp=config.count(f"{vllm}.pipeline_parallel_size"),
        vllm_ep=config.count(f"{vllm}.expert_parallel_size"),
        prompts=config.count("grpo.num_prompts_per_step"),
        generations=config.count("grpo.num_generations_per_prompt"),
        global_batch=config.count("policy.train_global_batch_size"),
        micro_batch=micro,
        logprob_batch=config.count("policy.logprob_batch_size", micro),
        sequence=config.count("policy.max_total_sequence_length"),
    )
