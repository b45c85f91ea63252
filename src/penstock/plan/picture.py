"""A plan as a picture: SVG text that a browser shows as it is, light or dark."""

from __future__ import annotations

from html import escape
from typing import Final

from penstock.plan.groups import subtopologies
from penstock.plan.nodes import Node, Sink, Source
from penstock.plan.plan import Plan

WIDTH: Final = 230
HEIGHT: Final = 44
GAP: Final = 36

_STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:currentColor}.name{font-weight:600}rect{fill:none;"
    "stroke:currentColor;rx:8}.topic{stroke:#2a9d8f}.state{stroke:#e76f51}path{stroke:currentColor;fill:none;"
    "marker-end:url(#tip)}.through{stroke-dasharray:4 4}"
)
_TIP: Final = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8" style="marker-end:none"/></marker></defs>'
)


def svg(plan: Plan) -> str:
    """Records flow from the top down; a dashed line goes through a repartition topic."""
    rows = _rows(plan)
    places = {
        name: (GAP + column * (WIDTH + GAP), GAP + row * (HEIGHT + GAP))
        for row, names in enumerate(rows)
        for column, name in enumerate(names)
    }
    width = GAP + max((len(names) for names in rows), default=0) * (WIDTH + GAP)
    height = GAP + len(rows) * (HEIGHT + GAP)
    boxes = [_box(node, *places[node.name]) for node in plan.nodes]
    lines = [_line(places[parent], places[node.name]) for node in plan.nodes for parent in node.parents]
    lines += [_line(places[sink], places[source], "through") for sink, source in _through_topics(plan)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    title = f"<title>Topology of {len(plan.nodes)} nodes in {len(subtopologies(plan))} sub-topologies</title>"
    return "\n".join([head, title, f"<style>{_STYLE}</style>{_TIP}", *lines, *boxes, "</svg>"])


def _through_topics(plan: Plan) -> list[tuple[str, str]]:
    readers = {topic: node.name for node, source in plan.sources for topic in source.topics}
    return [
        (node.name, readers[sink.topic]) for node, sink in plan.sinks if sink.topic and sink.topic in readers
    ]


def _rows(plan: Plan) -> list[list[str]]:
    """Each node below all that feed it."""
    above = {node.name: list(node.parents) for node in plan.nodes}
    for sink, source in _through_topics(plan):
        if sink not in above[source]:
            above[source].append(sink)
    row: dict[str, int] = {}
    for _ in plan.nodes:  # at most so many rounds, even where topics make a circle
        changed = False
        for name, parents in above.items():
            wanted = 1 + max((row.get(parent, 0) for parent in parents), default=-1)
            if wanted > row.get(name, -1) and wanted < len(plan.nodes):
                row[name], changed = wanted, True
        if not changed:
            break
    rows: list[list[str]] = [[] for _ in range(1 + max(row.values(), default=-1))]
    for name, number in row.items():
        rows[number].append(name)
    return [names for names in rows if names]


def _box(node: Node, x: int, y: int) -> str:
    kind, detail = "", ""
    if isinstance(node.operation, Source):
        kind, detail = "topic", ", ".join(node.operation.topics) or str(node.operation.pattern)
    elif isinstance(node.operation, Sink):
        kind, detail = "topic", node.operation.topic or "a topic for each record"
    elif node.stores:
        kind, detail = "state", ", ".join(node.stores)
    texts = f'<text class="name" x="{x + 10}" y="{y + 18}">{_short(node.name)}</text>'
    texts += f'<text x="{x + 10}" y="{y + 35}">{_short(detail)}</text>'
    full = escape(f"{node.name} {detail}".strip())
    box = f'<rect class="{kind}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}"/>'
    return f"<g><title>{full}</title>{box}{texts}</g>"


def _short(text: str) -> str:
    return escape(text if len(text) <= 32 else f"{text[:15]}…{text[-16:]}")


def _line(start: tuple[int, int], end: tuple[int, int], kind: str = "") -> str:
    (x1, y1), (x2, y2) = start, end
    x1, x2, y1 = x1 + WIDTH // 2, x2 + WIDTH // 2, y1 + HEIGHT
    return f'<path class="{kind}" d="M{x1} {y1}C{x1} {y1 + GAP} {x2} {y2 - GAP} {x2} {y2}"/>'
