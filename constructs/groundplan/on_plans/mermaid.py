"""The picture as Mermaid, which code hosts draw in Markdown."""

from __future__ import annotations

from groundplan.on_plans.topology import COLUMNS, OUTSIDE, Topology
from plan_review import display
from plan_review.model import Action

_TITLES = {"storage": "Storage", "network": "Networks", "cluster": "GKE", "job": "In the cluster"}

#: Fill and stroke that carry dark and light text alike; the word in the box says the same for who sees no colours.
_CLASSES = {
    Action.CREATE: "fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
    Action.UPDATE: "fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    Action.REPLACE: "fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-width:3px",
    Action.DESTROY: "fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-dasharray:5 3",
}

#: More boxes than this are no picture.
MOST = 40


def mermaid(picture: Topology) -> str:
    """A flowchart; empty when there is nothing to draw, or too much."""
    if not picture or len(picture.boxes) > MOST:
        return ""
    names = {box.key: f"n{number}" for number, box in enumerate(picture.boxes)}
    lines = ["flowchart LR"]
    for column in COLUMNS:
        boxes = picture.column(column)
        if not boxes:
            continue
        lines.append(f"  subgraph {column}[{_TITLES[column]}]")
        for box in boxes:
            state = "" if box.state in (Action.NONE, Action.READ, OUTSIDE) else f"<i>{box.state}</i>"
            text = "<br/>".join(filter(None, (f"<b>{_text(box.title)}</b>", *map(_text, box.lines), state)))
            lines.append(f'    {names[box.key]}["{text}"]')
        lines.append("  end")
    for edge in picture.edges:
        arrow = f"-- {_text(edge.label)} ---" if edge.label else "---"
        lines.append(f"  {names[edge.left]} {arrow} {names[edge.right]}")
    for state, style in _CLASSES.items():
        members = [names[box.key] for box in picture.boxes if box.state == state]
        if members:
            lines += [f"  classDef {state} {style}", f"  class {','.join(members)} {state}"]
    outside = [names[box.key] for box in picture.boxes if box.state == OUTSIDE]
    if outside:
        lines += [f"  classDef {OUTSIDE} stroke-dasharray:3 3", f"  class {','.join(outside)} {OUTSIDE}"]
    return "\n".join(lines)


def _text(text: str) -> str:
    """Text within a quoted label: Mermaid's own escapes for what would end it or be read as HTML or Markdown."""
    escaped = "".join(f"#{ord(c)};" if c in '"<>#&@`;{}[]|\\*_' else c for c in display.cut(text, 60))
    return escaped
