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
    others: int = 0
    """GPUs that a reward model or teachers take; of several nodes, whole nodes."""

    @property
    def policy_nodes(self) -> int:
        """Nodes that train and generate."""
        return self.nodes - self.others // self.gpus_per_node if self.nodes > 1 else 1

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
    others = _reward_gpus(config, nodes, per_node) + _teacher_nodes(config, nodes) * per_node
    policy_nodes = nodes - others // per_node if nodes > 1 else 1
    resources = "policy.generation.colocated.resources"
    if colocated:
        generation = 0
    elif policy_nodes == 1:
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
        generation_gpus=nodes * per_node - others if colocated else generation,
        training_gpus=nodes * per_node - others - generation,
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
        others=others,
    )


def reward_model_on(config: Config) -> bool:
    """Whether a reward model is an environment of the training: it is enabled, or the data names it."""
    names = (config.text(f"data{part}.env_name") for part in ("", ".default", ".train", ".validation"))
    return config.on("env.reward_model.enabled") or "reward_model" in names


def _reward_gpus(config: Config, nodes: int, per_node: int) -> int:
    """GPUs of one node, or of whole nodes of several (nemo_rl/algorithms/grpo.py, setup)."""
    if not reward_model_on(config):
        return 0
    resources = "env.reward_model.resources"
    taken = config.count(f"{resources}.gpus_per_node", 0)
    return taken if nodes == 1 else config.count(f"{resources}.num_nodes", 0) * per_node


def _teacher_nodes(config: Config, nodes: int) -> int:
    """Nodes of teachers that are not among the training's GPUs, so many for each checkpoint (v0.7.0,
    nemo_rl/algorithms/opd.py)."""
    group = "on_policy_distillation"
    teachers = f"{group}.non_colocated_teachers"
    if nodes == 1 or not config.on(f"{group}.enabled") or not config.on(f"{teachers}.enabled"):
        return 0
    start = f"{group}.teacher_model_by_agent_name."
    models = {path.removeprefix(start): config.get(path) for path in config.values if path.startswith(start)}
    if config.get(f"{group}.deduplicate_shared_teacher_checkpoints", True) is not False:
        models = {alias: model for model, alias in {str(m): a for a, m in reversed(models.items())}.items()}
    usual = config.count(f"{teachers}.default_teacher_cfg.num_nodes")
    return sum(config.count(f"{teachers}.teacher_overrides.{alias}.num_nodes", usual) for alias in models)
