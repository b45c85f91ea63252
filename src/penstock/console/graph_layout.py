"""A directed graph laid out in layers, left to right, for the page that draws it. Pure.

A node stands one layer behind the last of its sources; within a layer nodes are ordered by the middle of
their neighbours, a few times in both directions, which takes most crossings away. A cycle is cut where it
was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WIDTH, HEIGHT = 210, 62
GAP_X, GAP_Y = 84, 22
SWEEPS = 4
NODES_MAX = 400


@dataclass(frozen=True, slots=True)
class Node:
    node_id: str
    label: str
    kind: str
    """topic, group, query, connector, system or step."""
    detail: str = ""
    href: str = ""
    tone: str = ""
    """`good`, `warn` or `bad`; empty when nothing is to be said."""


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    label: str = ""
    rate: float | None = None
    """Records a second, when known: it sets how fast the edge moves."""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = field(default=())


def laid_out(graph: Graph) -> dict[str, Any]:
    """Positions of nodes and edges, as the browser draws them."""
    nodes = graph.nodes[:NODES_MAX]
    known = {node.node_id for node in nodes}
    edges = [edge for edge in graph.edges if edge.source in known and edge.target in known]
    layers = _ordered(_layers([node.node_id for node in nodes], edges), edges)
    tallest = max((len(layer) for layer in layers), default=0)
    places: dict[str, tuple[float, float]] = {}
    for column, layer in enumerate(layers):
        top = (tallest - len(layer)) * (HEIGHT + GAP_Y) / 2
        for row, name in enumerate(layer):
            places[name] = (column * (WIDTH + GAP_X), top + row * (HEIGHT + GAP_Y))
    return {
        "width": max(1, len(layers)) * (WIDTH + GAP_X) - GAP_X,
        "height": max(1, tallest) * (HEIGHT + GAP_Y) - GAP_Y,
        "nodes": [_node(node, *places[node.node_id]) for node in nodes],
        "edges": [_edge(edge, places) for edge in edges],
        "left_out": len(graph.nodes) - len(nodes),
    }


def _layers(names: Sequence[str], edges: Iterable[Edge]) -> list[list[str]]:
    into: dict[str, set[str]] = {name: set() for name in names}
    for edge in edges:
        if edge.source != edge.target:
            into[edge.target].add(edge.source)
    depth: dict[str, int] = {}
    for name in names:
        _measure(name, into, depth)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in names:
        layers[depth[name]].append(name)
    return [layer for layer in layers if layer]


def _measure(start: str, into: Mapping[str, set[str]], depth: dict[str, int]) -> None:
    """Depth of a node and of all before it, without recursion; a node that is being measured counts 0."""
    stack, open_ = [start], set()
    while stack:
        name = stack[-1]
        waiting = [each for each in sorted(into[name]) if each not in depth and each not in open_]
        open_.add(name)
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        open_.discard(name)
        if name not in depth:
            depth[name] = max((depth.get(each, -1) + 1 for each in into[name]), default=0)


def _ordered(layers: list[list[str]], edges: Sequence[Edge]) -> list[list[str]]:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for edge in edges:
        before.setdefault(edge.target, []).append(edge.source)
        after.setdefault(edge.source, []).append(edge.target)
    for sweep in range(SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        row = {name: at for layer in layers for at, name in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=lambda name: _middle(name, neighbours, row))
            row.update({name: at for at, name in enumerate(layer)})
    return layers


def _middle(name: str, neighbours: Mapping[str, list[str]], row: Mapping[str, int]) -> float:
    rows = [row[each] for each in neighbours.get(name, ())]
    return sum(rows) / len(rows) if rows else row[name]


def _node(node: Node, x: float, y: float) -> dict[str, Any]:
    return {
        "id": node.node_id, "label": node.label, "kind": node.kind, "detail": node.detail,
        "href": node.href, "tone": node.tone, "x": x, "y": y,
    }  # fmt: skip


def _edge(edge: Edge, places: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    return {
        "id": f"{edge.source}>{edge.target}", "label": edge.label, "rate": edge.rate, "tone": edge.tone,
        "from": edge.source, "to": edge.target,
        "x1": x1 + WIDTH, "y1": y1 + HEIGHT / 2, "x2": x2, "y2": y2 + HEIGHT / 2,
    }  # fmt: skip
