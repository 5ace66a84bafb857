"""The picture as SVG within the page: no script, no font of its own, colours from the page's style sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from groundplan.on_plans.mermaid import MOST
from groundplan.on_plans.topology import COLUMNS, OUTSIDE, Box, Topology
from plan_review import display
from plan_review.model import Action

_TITLES = {"storage": "Storage", "network": "Networks", "cluster": "GKE", "job": "In the cluster"}

_WIDTH, _GAP, _MARGIN, _TOP = 236, 56, 2, 34
_TITLE, _LINE, _PAD, _BETWEEN = 20, 16, 10, 14

#: Between the base lines of two words on lines.
_LABEL = 13

#: Left edge, upper edge and height of a box.
_Place = tuple[int, int, int]

#: States that need no word in the box.
_SILENT = (Action.NONE, Action.READ, OUTSIDE)

#: Characters that fit into a box, by size of type.
_FIT_TITLE, _FIT_LINE = 26, 31


def svg(picture: Topology) -> str:
    """An ``<svg>`` element; empty when there is nothing to draw, or too much."""
    if not picture or len(picture.boxes) > MOST:
        return ""
    columns = [name for name in COLUMNS if picture.column(name)]
    places: dict[str, _Place] = {}
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
    lines = [(places[e.left], places[e.right], e.label) for e in picture.edges if e.left in places]
    edges = [*(_edge(left, right) for left, right, _ in lines), *_labels(lines)]
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


def _edge(left: _Place, right: _Place) -> str:
    x1, y1, x2, y2 = _ends(left, right)
    middle = (x1 + x2) // 2
    return f'<path class="edge" d="M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"/>'


def _ends(left: _Place, right: _Place) -> tuple[int, int, int, int]:
    if left[0] > right[0]:
        left, right = right, left
    return left[0] + _WIDTH, left[1] + left[2] // 2, right[0], right[1] + right[2] // 2


def _labels(lines: Sequence[tuple[_Place, _Place, str]]) -> Iterator[str]:
    """The words on the lines: each at its line's middle, or below the last one there, so that none covers another."""
    wanted = []
    for left, right, label in lines:
        if label:
            x1, y1, x2, y2 = _ends(left, right)
            wanted.append(((x1 + x2) // 2, (y1 + y2) // 2 - 4, label))
    lowest: dict[int, int] = {}
    for x, y, label in sorted(wanted):
        at = max(y, lowest[x] + _LABEL) if x in lowest else y
        lowest[x] = at
        yield f'<text class="edge-label" x="{x}" y="{at}">{escape(label)}</text>'
