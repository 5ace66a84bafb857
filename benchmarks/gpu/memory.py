"""GPU memory of one training step of one rank of N, on one GPU.

The rank holds its shard of the model as FSDP2 and torch's tensor parallel make it (float32 masters, bf16 compute,
float32 reduction). It runs two steps on real memory: forward, log-probabilities from float32 logits, backward, AdamW;
the second one is measured. The other ranks are torch's fake process group: collectives allocate and do not transfer, so
sizes are real and values are not. Needs a GPU, torch, transformers, and peft for LoRA; nothing of groundplan.

    python3 benchmarks/gpu/memory.py RUNS.json > rows.jsonl

RUNS.json is a list of runs: `config` (a config.json's fields with `model_type`), `gpus`, `tp`, `cp`, `micro_batch`,
`sequence`, `checkpointing`, and where wanted `accumulate`, `lora` (a rank), `packed` (sequences), `sequence_parallel`.
Each gives one row; sizes in GB of 10^9 bytes. Its first form made the rows of tests/memory/measurements.csv; it was
tidied afterwards and not run again.
"""

from __future__ import annotations

import gc
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import set_rotate_method
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.testing._internal.distributed.fake_pg import FakeStore
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

GB = 1e9


class Gather(SequenceParallel):
    """A norm on a part of the sequence, whose output every rank gets whole."""

    @staticmethod
    def _prepare_output_fn(use_local_output: bool, mod: Any, outputs: Any, mesh: Any) -> Any:
        if isinstance(outputs, DTensor) and outputs.placements[0] == Shard(1):
            outputs = outputs.redistribute(placements=[Replicate()])
        return outputs.to_local() if isinstance(outputs, DTensor) else outputs


def plan(layers: int, sequence_parallel: bool) -> dict[str, Any]:
    """Which module is divided how, as NeMo RL's own plans divide it."""
    whole = {"output_layouts": Shard(1)} if sequence_parallel else {}
    layer: dict[str, Any] = {
        f"{part}_proj": ColwiseParallel()
        for part in ("self_attn.q", "self_attn.k", "self_attn.v", "mlp.gate", "mlp.up")
    }
    layer |= {"self_attn.o_proj": RowwiseParallel(**whole), "mlp.down_proj": RowwiseParallel(**whole)}
    head = {"input_layouts": Shard(1)} if sequence_parallel else {}
    divided: dict[str, Any] = {
        "model.embed_tokens": RowwiseParallel(input_layouts=Replicate(), **whole),
        "lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False, **head),
    }
    if sequence_parallel:
        layer |= {"input_layernorm": Gather(), "post_attention_layernorm": Gather()}
        divided["model.norm"] = SequenceParallel()
    return divided | {f"model.layers.{n}.{key}": value for n in range(layers) for key, value in layer.items()}


class VocabularyParallel(torch.autograd.Function):
    """Log-probabilities from logits of which each rank has a part of the vocabulary."""

    @staticmethod
    def forward(ctx: Any, logits: Any, ids: Any, group: Any) -> Any:
        mask = ids >= logits.shape[-1]
        local = ids.clone()
        local[mask] = 0
        top = torch.amax(logits, -1, keepdim=True)
        dist.all_reduce(top, op=dist.ReduceOp.MAX, group=group)
        logits = logits - top
        total = logits.exp().sum(-1, keepdim=True).float()
        dist.all_reduce(total, group=group)
        logp = logits - total.log()
        softmax = logp.exp()
        out = torch.gather(logp, -1, local.unsqueeze(-1)).squeeze(-1)
        out[mask] = 0
        dist.all_reduce(out, group=group)
        ctx.save_for_backward(softmax, mask, local)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        softmax, mask, local = ctx.saved_tensors
        batch, length, words = softmax.shape
        row = torch.arange(batch * length, device=softmax.device) * words
        chosen = row.masked_select(~mask.reshape(-1)) + local.masked_select(~mask)
        out = softmax.neg().mul_(gradients[0].unsqueeze(-1))
        out.view(-1).scatter_add_(0, chosen, gradients[0].masked_select(~mask))
        return out, None, None


def attend_packed(module: Any, query: Any, key: Any, value: Any, mask: Any, **more: Any) -> Any:
    """Attention over packed sequences; keys and values are repeated for each head, which flash attention need not."""
    from torch.nn.attention.varlen import varlen_attn

    batch, heads, length, size = query.shape
    packed = module.config.packed
    ends = torch.arange(0, length + 1, length // packed, dtype=torch.int32, device="cuda")
    query, key, value = (t.transpose(1, 2).reshape(batch * length, t.shape[1], size) for t in (query, key, value))
    key, value = (t.repeat_interleave(heads // t.shape[1], 1) for t in (key, value))
    causal = (
        {"is_causal": True} if "is_causal" in inspect.signature(varlen_attn).parameters else {"window_size": (-1, 0)}
    )
    out = varlen_attn(query, key, value, ends, ends, length // packed, length // packed, **causal)
    return out.reshape(batch, length, heads, size), None


class Rank:
    """Rank 0 of `gpus`: its model, optimizer and meshes."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.run, self.tp, self.cp = run, run.get("tp", 1), run.get("cp", 1)
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=run["gpus"])
        shape = (run["gpus"] // (self.tp * self.cp), self.cp, self.tp)
        self.mesh = init_device_mesh("cuda", shape, mesh_dim_names=("dp", "cp", "tp"))
        self.config = self._config()
        self.model = self._model()
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=1e-6)

    def _config(self) -> Any:
        fields = dict(self.run["config"])
        config = AutoConfig.for_model(fields.pop("model_type"), **fields)
        config.use_cache = False
        config._attn_implementation = "sdpa"
        if self.run.get("packed"):
            config.packed = self.run["packed"]
            config._attn_implementation = "packed"
            ALL_ATTENTION_FUNCTIONS.register("packed", attend_packed)
        return config

    def _model(self) -> Any:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(self.config, dtype=torch.float32)
            if self.run.get("lora"):
                from peft import LoraConfig, get_peft_model

                model = get_peft_model(
                    model, LoraConfig(r=self.run["lora"], target_modules="all-linear")
                ).base_model.model
        layers = model.model.layers
        if self.tp > 1:
            parallelize_module(model, self.mesh["tp"], plan(len(layers), self.run.get("sequence_parallel", False)))
        if self.run.get("checkpointing"):
            for n, layer in enumerate(layers):
                layers[n] = checkpoint_wrapper(layer)
        spread = self.mesh["dp", "cp"]._flatten("dpcp") if self.cp > 1 else self.mesh["dp"]
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.bfloat16)
        for part in (*layers, model):
            fully_shard(part, mesh=spread, mp_policy=policy)
        model.to_empty(device="cuda")
        with torch.no_grad():
            for tensor in (*model.parameters(), *model.buffers()):
                local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
                local.normal_(0, 0.02) if local.dim() > 1 else local.fill_(1)
        return model

    def step(self, seen: dict[str, float]) -> None:
        """One optimizer step; the forward pass's peak goes into `seen`."""
        for _ in range(self.run.get("accumulate", 1)):
            ids = torch.randint(
                0, self.config.vocab_size, (self.run["micro_batch"], self.run["sequence"]), device="cuda"
            )
            places = torch.arange(self.run["sequence"], device="cuda").unsqueeze(0).repeat(len(ids), 1)
            if self.cp > 1:
                set_rotate_method("allgather")
                with context_parallel(
                    self.mesh["cp"], buffers=[ids, places], buffer_seq_dims=[1, 1], no_restore_buffers={ids, places}
                ):
                    self._loss(ids, places, seen).backward()
            else:
                self._loss(ids, places, seen).backward()
        self.optimizer.step()
        torch.cuda.synchronize()

    def _loss(self, ids: Any, places: Any, seen: dict[str, float]) -> Any:
        more: dict[str, Any] = {}
        if self.run.get("sequence_parallel") or self.cp > 1:  # no mask is made from positions of a part
            more = {"attention_mask": {"full_attention": None}, "position_ids": places}
        elif self.run.get("packed"):
            more = {"position_ids": places % (self.run["sequence"] // self.run["packed"])}
        logits = self.model(input_ids=ids, use_cache=False, **more).logits
        logits = (logits.to_local() if isinstance(logits, DTensor) else logits).float()
        seen.setdefault("forward_peak_gb", torch.cuda.max_memory_allocated() / GB)
        return -VocabularyParallel.apply(logits, ids, self.mesh["tp"].get_group()).mean()


def measure(run: dict[str, Any]) -> dict[str, Any]:
    """One row."""
    rank = Rank(run)
    rank.step({})
    rank.optimizer.zero_grad(set_to_none=True)
    gc.collect()
    torch.cuda.synchronize()
    seen = {"weights_and_adam_gb": torch.cuda.memory_allocated() / GB}
    torch.cuda.reset_peak_memory_stats()
    rank.step(seen)
    seen["step_peak_gb"] = torch.cuda.max_memory_allocated() / GB
    seen["reserved_gb"] = torch.cuda.memory_reserved() / GB
    return {**{k: v for k, v in run.items() if k != "config"}, **{k: round(v, 3) for k, v in seen.items()}}


def main() -> None:
    """Each run of the file, one row a line; one that fails says why and does not end the others."""
    runs = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    for run in runs:
        try:
            row = measure(run)
        except (RuntimeError, ValueError, ImportError) as error:
            row = {**{k: v for k, v in run.items() if k != "config"}, "error": str(error)[:300]}
        print(json.dumps(row), flush=True)
        if dist.is_initialized():
            dist.destroy_process_group()
        gc.collect()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
