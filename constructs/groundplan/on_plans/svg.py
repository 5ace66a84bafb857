"""The picture as SVG within the page: no script, no font of its own, colours from the page's style sheet."""

from __future__ import annotations

from html import escape

from groundplan.on_plans.mermaid import MOST
from groundplan.on_plans.topology import COLUMNS, OUTSIDE, Box, Topology
from plan_review import display
from plan_review.model import Action

_TITLES = {"storage": "Storage", "network": "Networks", "cluster": "GKE", "job": "In the cluster"}

_WIDTH, _GAP, _MARGIN, _TOP = 236, 56, 2, 34
_TITLE, _LINE, _PAD, _BETWEEN = 20, 16, 10, 14

#: States that need no word in the box.
_SILENT = (Action.NONE, Action.READ, OUTSIDE)

#: Characters that fit into a box, by size of type.
_FIT_TITLE, _FIT_LINE = 26, 33


def svg(picture: Topology) -> str:
    """An ``<svg>`` element; empty when there is nothing to draw, or too much."""
    if not picture or len(picture.boxes) > MOST:
        return ""
    columns = [name for name in COLUMNS if picture.column(name)]
    places: dict[str, tuple[int, int, int]] = {}
    parts: list[str] = []
    bottom = _TOP
    for number, column in enumerate(columns):
        x, y = _MARGIN + number * (_WIDTH + _GAP), _TOP
        parts.append(f'<text class="column" x="{x}" y="20">{escape(_TITLES[column])}</text>')
        for box in picture.column(column):
            height = _height(box)
            places[box.key] = (x, y, height)
            parts.append(_box(box, x, y, height))
            y += height + _BETWEEN
        bottom = max(bottom, y)
    edges = [_edge(places[e.left], places[e.right], e.label) for e in picture.edges if e.left in places]
    width = 2 * _MARGIN + len(columns) * _WIDTH + (len(columns) - 1) * _GAP
    head = (
        f'<svg class="topology" viewBox="0 0 {width} {bottom}" width="{width}" height="{bottom}" role="img" '
        'xmlns="http://www.w3.org/2000/svg" aria-label="Networks, storage, pools and jobs, and what happens to them">'
    )
    return "\n".join([head, *edges, *parts, "</svg>"])


def _height(box: Box) -> int:
    state = 0 if box.state in _SILENT else 1
    return 2 * _PAD + _TITLE + _LINE * (len(box.lines) + state) - 6


def _box(box: Box, x: int, y: int, height: int) -> str:
    whole = escape("\n".join([box.title, *box.lines]))
    parts = [
        f'<g class="box {escape(box.state)}"><title>{whole}</title>',
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="6"/>',
        f'<text class="title" x="{x + 12}" y="{y + _PAD + 12}">{escape(display.cut(box.title, _FIT_TITLE))}</text>',
    ]
    below = y + _PAD + _TITLE + 10
    for line in box.lines:
        parts.append(f'<text x="{x + 12}" y="{below}">{escape(display.cut(line, _FIT_LINE))}</text>')
        below += _LINE
    if box.state not in _SILENT:
        parts.append(f'<text class="state" x="{x + 12}" y="{below}">{escape(box.state)}</text>')
    return "".join([*parts, "</g>"])


def _edge(left: tuple[int, int, int], right: tuple[int, int, int], label: str) -> str:
    if left[0] > right[0]:
        left, right = right, left
    x1, y1 = left[0] + _WIDTH, left[1] + left[2] // 2
    x2, y2 = right[0], right[1] + right[2] // 2
    middle = (x1 + x2) // 2
    path = f'<path class="edge" d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"/>'
    if not label:
        return path
    return f'{path}<text class="edge-label" x="{middle}" y="{(y1 + y2) // 2 - 4}">{escape(label)}</text>'
