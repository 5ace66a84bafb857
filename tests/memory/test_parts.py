"""Each part by hand, of a small model: 1024 wide, 10 layers, 8 heads and 4 KV heads of 128, 4096 inside, 10k words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groundplan.nemo_rl.config import Config
from groundplan.nemo_rl.memory import dtensor, megatron
from groundplan.nemo_rl.memory.activations import checkpoint, final_norm, kept, mask
from groundplan.nemo_rl.memory.host import checkpoint_bytes, model_bytes, node_bytes, seconds_to_write
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.moments import SMALL, Moment
from groundplan.nemo_rl.memory.of_config import generation_of, job_of
from groundplan.nemo_rl.memory.parameters import count
from groundplan.nemo_rl.models import ModelShape
from groundplan.nemo_rl.shape import Shape

MODEL = ModelShape(
    "LlamaForCausalLM", heads=8, kv_heads=4, layers=10, vocabulary=10_000, hidden=1024, head_size=128, intermediate=4096
)
EMBEDDING = 10_240_000  # 10,000 x 1024
LAYER = 15_730_688  # attention 1024 x 3072, MLP 3 x 1024 x 4096, norms 2 x 1024
TOTAL = 177_787_904  # 10 layers, two embeddings, the last norm
JOB = Job(model=MODEL, gpus=8, sequence=1000)
MOE = replace(MODEL, architecture="Qwen3MoeForCausalLM", experts=16, active_experts=2, expert_width=512)


def moment(job: Job, name: str) -> Moment:
    moments = megatron.moments(job) if job.backend == "megatron" else dtensor.moments(job)
    return next(each for each in moments if each.name.startswith(name))


def test_parameters() -> None:
    counted = count(MODEL)
    assert (counted.embedding, counted.layers, counted.total) == (EMBEDDING, (LAYER,), TOTAL)
    assert counted.body == 10 * LAYER + 1024
    assert count(replace(MODEL, tied=True)).total == TOTAL - EMBEDDING


def test_what_a_layer_keeps() -> None:
    """Norms 2 x 8 x 1024; rotated q and k 3072, v 1024, output 2048, 4 a head; MLP 8 x 4096."""
    assert kept(JOB) == 16384 + 6176 + 32768
    assert kept(JOB.but(tp=2)) == 16384 + (6176 + 32768) / 2
    assert kept(JOB.but(tp=2, sequence_parallel=True)) == 2 * (6 / 2 + 2) * 1024 + (6176 + 32768) / 2
    assert kept(JOB.but(cp=2)) == 16384 + 6176 + 32768 + 2 * 2 * 512 * 2
    assert checkpoint(JOB) == 2048
    assert checkpoint(JOB.but(tp=2, sequence_parallel=True)) == 1024
    assert final_norm(JOB) == 10 * 1024


def test_norms_of_queries_and_keys_and_of_gemma() -> None:
    assert kept(JOB.but(model=replace(MODEL, architecture="Qwen3ForCausalLM"))) - kept(JOB) == 6 * 1536
    gemma = JOB.but(model=replace(MODEL, architecture="Gemma3ForCausalLM"))
    assert kept(gemma) - kept(JOB) == (36 - 16) * 1024 + 8 * 1536
    assert mask(gemma) == 0
    sliding = gemma.but(model=replace(gemma.model, window=512))
    assert mask(sliding) == pytest.approx(2 * 1000**2 * 0.9)  # nine of ten layers slide
    assert mask(sliding.but(sequence=511)) == 0


def test_what_experts_keep() -> None:
    """Of two active experts: 8 x 512 inside, 4 x 1024 around; and 12 bytes a score."""
    dense = kept(JOB.but(model=replace(MODEL, architecture="Qwen3MoeForCausalLM"))) - 32768
    assert kept(JOB.but(model=MOE)) == dense + 2 * (4096 + 4096) + 12 * 16


def test_log_probabilities() -> None:
    parts = moment(JOB, "log").parts
    assert parts["weights"] == TOTAL * 4 / 8 + SMALL
    assert parts["optimizer"] == TOTAL * 8 / 8
    assert parts["gathered weights"] == 2 * 2 * EMBEDDING
    assert parts["activations"] == 10 * 1000 * kept(JOB) + 1000 * 10240
    assert parts["logits"] == 4 * 4 * 1000 * 10_000
    assert "gradients" not in parts
    assert moment(JOB.but(micro_batches=2), "log").parts["gradients"] == TOTAL * 4 / 8


def test_tensor_parallel_parts_a_tied_embedding() -> None:
    tied = JOB.but(model=replace(MODEL, tied=True))
    assert moment(tied, "optimizer").parts["optimizer"] == TOTAL - EMBEDDING
    assert moment(tied.but(tp=2), "optimizer").parts["optimizer"] == TOTAL


def test_the_other_moments() -> None:
    layer = moment(JOB.but(checkpointing=True), "backward of the last").parts
    assert layer["gathered weights"] == 4 * EMBEDDING + 5 * 2 * LAYER + 2 * EMBEDDING
    assert layer["layer backward"] == 1000 * kept(JOB) + 14 * 1000 * 1024
    assert layer["activations"] == 10 * 1000 * 2048
    ends = moment(JOB, "reduction").parts
    assert ends["gathered weights"] == 2 * LAYER + 3 * 4 * EMBEDDING
    assert moment(JOB, "optimizer").parts["optimizer temporaries"] == TOTAL * 4 / 8
    assert moment(JOB.but(foreach=False), "optimizer").parts["optimizer temporaries"] == EMBEDDING * 4 / 8


def test_lora_trains_its_adapters_alone() -> None:
    """Rank 4: q and o 2 x 2048, k and v 2 x 1536, three of the MLP 3 x 5120, over 10 layers."""
    adapters = 4 * 10 * (2 * 2048 + 2 * 1536 + 3 * 5120)
    parts = moment(JOB.but(lora=4), "reduction").parts
    assert parts["weights"] == pytest.approx((TOTAL + adapters) * 4 / 8 + SMALL)
    assert parts["optimizer"] == adapters * 8 / 8
    assert parts["gradients"] == adapters * 4 / 8


def test_offloaded_states_leave_the_gpu() -> None:
    assert {"weights", "optimizer", "gradients"}.isdisjoint(moment(JOB.but(cpu_offload=True), "optimizer").parts)


def test_megatron() -> None:
    """TP 2 x PP 2 on 8 GPUs: a quarter of the layers, half an embedding; 12 bytes over two copies."""
    job = JOB.but(backend="megatron", tp=2, pp=2)
    mine = (10 * LAYER + 1024) / 4 + EMBEDDING / 2
    parts = moment(job, "log").parts
    assert parts["weights"] == pytest.approx(2 * mine + SMALL)
    assert parts["gradients"] == pytest.approx(2 * mine)
    assert parts["optimizer"] == pytest.approx(12 * mine / 2)
    assert moment(job.but(gradients_float32=True), "log").parts["gradients"] == pytest.approx(4 * mine)
    assert moment(job.but(optimizer_offload=0.5), "log").parts["optimizer"] == pytest.approx(6 * mine / 2)
    first = moment(job.but(micro_batches=4), "forward").parts["activations"]
    assert first == pytest.approx(2 * 5 * 1000 * kept(job))


def test_chunked_log_probabilities() -> None:
    """Of 250 of 1000 tokens at a time: a quarter of the float32 copies, and two in bf16."""
    job = JOB.but(backend="megatron", logprob_chunk=250)
    assert moment(job, "log").parts["logits"] == pytest.approx((4 + 4) * 1000 * 10_000)


SHAPE = Shape(
    nodes=1, gpus_per_node=8, colocated=True, generation_gpus=8, training_gpus=8, backend="dtensor",
    tp=1, pp=1, cp=1, ep=1, etp=1, vllm_tp=1, vllm_pp=1, vllm_ep=1,
    prompts=8, generations=4, global_batch=32, micro_batch=1, logprob_batch=1, sequence=1000,
)  # fmt: skip


def test_a_job_of_a_configuration() -> None:
    values = {"policy.dtensor_cfg.activation_checkpointing": True, "policy.optimizer.kwargs.foreach": False}
    job = job_of(Config(values), SHAPE, MODEL)
    assert (job.checkpointing, job.foreach, job.micro_batches, job.colocated) == (True, False, 4, True)
    packed = {"policy.sequence_packing.enabled": True, "policy.sequence_packing.train_mb_tokens": 4000}
    job = job_of(Config(packed), SHAPE, MODEL)
    assert (job.micro_batch, job.sequence) == (1, 4000)
    adapters = {"policy.dtensor_cfg.lora_cfg.enabled": True, "policy.dtensor_cfg.lora_cfg.dim": 16}
    assert job_of(Config(adapters), SHAPE, MODEL).lora == 16
    offload = {"policy.megatron_cfg.optimizer.optimizer_cpu_offload": True}
    fraction = {"policy.megatron_cfg.optimizer.optimizer_offload_fraction": 0.5}
    ours = replace(SHAPE, backend="megatron")
    assert job_of(Config({**offload, **fraction}), ours, MODEL).optimizer_offload == 0.5


@pytest.mark.parametrize(("share", "budget"), [(0.8, 80), (1, 100), (1.1, 60), (0, 60)])
def test_share_of_vllm(share: float, budget: float) -> None:
    """A share that vLLM would refuse counts as the usual 0.6; a rule of its own refuses it."""
    config = Config({"policy.generation.vllm_cfg.gpu_memory_utilization": share})
    assert generation_of(config, SHAPE, MODEL, 100).budget == pytest.approx(budget)


def test_vllm_over_ranks_and_in_fp8() -> None:
    """Keys and values of a token: 2 x 4 heads x 128 x 10 layers x 2 bytes."""
    config = Config({})
    assert generation_of(config, SHAPE, MODEL, 1e11).weights == 2 * TOTAL
    assert generation_of(config, SHAPE, MODEL, 1e11).token == 20_480
    ranks = replace(SHAPE, vllm_tp=2, vllm_pp=2)
    assert generation_of(config, ranks, MODEL, 1e11).weights == 2 * TOTAL / 4
    assert generation_of(config, ranks, MODEL, 1e11).token == 20_480 / 4
    small = Config({"policy.generation.vllm_cfg.precision": "fp8"})
    assert generation_of(small, SHAPE, MODEL, 1e11).weights == TOTAL


def test_host_and_disk() -> None:
    assert checkpoint_bytes(JOB) == 12 * TOTAL
    assert checkpoint_bytes(JOB, optimizer=False) == 4 * TOTAL
    assert checkpoint_bytes(JOB.but(backend="megatron")) == 14 * TOTAL
    assert model_bytes(MODEL) == 2 * TOTAL
    assert node_bytes(JOB.but(gpus=16, colocated=True), 8) == 6 * TOTAL + 2 * TOTAL
    assert seconds_to_write(18e12, 18 * 1024, 1000) == 1000  # 18 TiB at 1000 MB/s each
