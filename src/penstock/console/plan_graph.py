"""The text of a topology, as Kafka Streams and SQL describe it, made into a graph. Pure."""

from __future__ import annotations

import re

from penstock.console.graph_layout import Edge, Graph, Node

_NODE = re.compile(r"^\s*(Source|Processor|Sink):\s*(\S+)\s*\((.*?)\)\s*$")
_NEXT = re.compile(r"^\s*-->\s*(.+?)\s*$")
_TOPICS = re.compile(r"topics?:\s*\[?([^\]]*)\]?")
_STORES = re.compile(r"stores:\s*\[([^\]]*)\]")


def plan_graph(topology: str) -> Graph:
    """Sources, processors and sinks with the topics that they read and write."""
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    current = ""
    for line in topology.splitlines():
        if found := _NODE.match(line):
            kind, current, inside = found.groups()
            _add(kind, current, inside, nodes, edges)
        elif (found := _NEXT.match(line)) and current:
            edges += [Edge(current, name) for name in found[1].split(", ") if name != "none"]
    return Graph(tuple(nodes.values()), tuple(edges))


def _add(kind: str, name: str, inside: str, nodes: dict[str, Node], edges: list[Edge]) -> None:
    stores = _STORES.search(inside)
    detail = f"state: {stores[1]}" if stores and stores[1] else kind.lower()
    nodes[name] = Node(name, name, "step", detail)
    topics = _TOPICS.search(inside)
    for topic in filter(None, (each.strip() for each in topics[1].split(",")) if topics else ()):
        nodes.setdefault(f"topic {topic}", Node(f"topic {topic}", topic, "topic"))
        edge = (f"topic {topic}", name) if kind == "Source" else (name, f"topic {topic}")
        edges.append(Edge(*edge))
