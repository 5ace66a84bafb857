"""The page of NeMo RL's conditions, written from the catalog and the rules' tables (docs/nemo-rl-conditions.md)."""

from __future__ import annotations

from groundplan.nemo_rl.checkpoint_rules import CHECKPOINTS
from groundplan.nemo_rl.conditions import Condition
from groundplan.nemo_rl.data_rules import DATA
from groundplan.nemo_rl.generation_rules import GENERATION
from groundplan.nemo_rl.loss_rules import LOSS
from groundplan.nemo_rl.optimizer_rules import OPTIMIZER
from groundplan.nemo_rl.parallel_rules import PARALLEL
from groundplan.nemo_rl.sequence_rules import SEQUENCES
from groundplan.nemo_rl.stated import FIRST, catalog
from groundplan.nemo_rl.step_rules import BATCHES

#: Rule -> its conditions.
TABLES: dict[str, tuple[Condition, ...]] = {
    "step-batches": BATCHES,
    "parallel-fit": PARALLEL,
    "sequence-fit": SEQUENCES,
    "backend-options": OPTIMIZER,
    "generation-options": GENERATION,
    "loss-options": LOSS,
    "data-options": DATA,
    "checkpoint-options": CHECKPOINTS,
}
_SUBJECTS = {
    "A": "Batches",
    "B": "Parallel sizes",
    "C": "Packing, context parallel, padding",
    "D": "Precision, memory, optimizer",
    "E": "LoRA",
    "F": "Generation",
    "G": "Asynchronous GRPO",
    "H": "Loss and advantage",
    "I": "Data, tokenizer, environment",
    "J": "Checkpoints and export",
}


def conditions_page() -> str:
    """The page as Markdown."""
    sure = {c.name: c.sure for table in TABLES.values() for c in table}
    rules = {c.name: slug for slug, table in TABLES.items() for c in table}
    entries = catalog()
    lines = [
        "# NeMo RL's conditions",
        "",
        "What NeMo RL raises about a GRPO configuration, before or in the first step, and the rule that says so before",
        "a GPU is asked for. `scripts/docs-rules` writes this page from the catalog and the rules. A condition that a",
        "release does not have is not judged there; (warning) marks what may go well.",
    ]
    subject = ""
    for name, entry in entries.items():
        if name[0] != subject:
            subject = name[0]
            lines += [
                "",
                f"## {_SUBJECTS[subject]}",
                "",
                "| | condition | since | stops | rule |",
                "|---|---|---|---|---|",
            ]
        since = entry.get("since", FIRST) + (f" to {entry['until']}" if "until" in entry else "")
        named = [rules[name]] if name in rules else []
        named += [word for key in ("rule", "also") for word in entry.get(key, "").split(", ") if word]
        shown = ", ".join(f"`{slug}`" for slug in dict.fromkeys(named)) or "none: not to be known offline"
        shown += "" if sure.get(name, True) else " (warning)"
        lines.append(f"| {name} | {entry['holds']} | {since} | {entry['stops']} | {shown} |")
    lines += ["", "## Not to be known offline", "", "Data, a model or the environment decides:", ""]
    lines += [f"- {name} {e['holds']}: {e['offline']}" for name, e in entries.items() if "offline" in e]
    lines += ["", "Judged in part:", ""]
    lines += [f"- {name} {e['holds']}: {e['limit']}" for name, e in entries.items() if "limit" in e]
    return "\n".join(lines) + "\n"
