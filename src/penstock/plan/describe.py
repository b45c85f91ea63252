"""A plan in the text form of Kafka's `Topology.describe()`, to the letter: tools that draw it read ours as
well.

Kafka sorts nodes by the number of nodes behind them, and links nodes in the order of a Java hash table. The
order of children depends on both, so both are done here too (`java_order`, `java_tree.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.kernels.operation import Function
from penstock.plan.groups import Subtopology, subtopologies
from penstock.plan.java_tree import JavaTree
from penstock.plan.nodes import Node, Sink, Source
from penstock.plan.plan import Plan


def describe(plan: Plan) -> str:
    return "Topologies:\n " + "".join(f"  {_text(group)}" for group in subtopologies(plan))


def _text(group: Subtopology) -> str:
    drawn = _drawn(group)
    if group.is_global:
        lines = [f"    {drawn[node.name].text()}\n" for node in group.nodes]
        return f"Sub-topology: {group.id} for global store (will not generate tasks)\n" + "".join(lines)
    ordered = sorted(drawn.values(), key=lambda node: (-node.size, node.node.name))
    return f"Sub-topology: {group.id}\n" + "".join(f"    {node.text()}\n" for node in ordered) + "\n"


@dataclass
class _Drawn:
    node: Node
    size: int = 1  # itself and the nodes behind it, as far as they are linked
    before: JavaTree[_Drawn] = field(default_factory=lambda: JavaTree(_is_before))
    after: JavaTree[_Drawn] = field(default_factory=lambda: JavaTree(_is_before))

    def grow(self, by: int) -> None:
        self.size += by
        for parent in self.before:
            parent.grow(by)

    def text(self) -> str:
        name, operation = self.node.name, self.node.operation
        after, before = f"\n      --> {_names(self.after)}", f"\n      <-- {_names(self.before)}"
        if isinstance(operation, Source):
            topics = operation.pattern or f"[{', '.join(java_order(operation.topics))}]"
            return f"Source: {name} (topics: {topics}){after}"
        if isinstance(operation, Sink):
            return f"Sink: {name} ({_target(operation)}){before}"
        return f"Processor: {name} (stores: [{', '.join(java_order(self.node.stores))}]){after}{before}"


def _target(sink: Sink) -> str:
    return (
        f"topic: {sink.topic}" if sink.topic is not None else f"extractor class: {_function(sink.extractor)}"
    )


def _function(function: Function | None) -> str:
    return getattr(function, "__qualname__", repr(function))


def _is_before(one: _Drawn, other: _Drawn) -> bool:
    return (-one.size, one.node.name) < (-other.size, other.node.name)


def _names(nodes: Iterable[_Drawn]) -> str:
    return ", ".join(node.node.name for node in nodes) or "none"


def _drawn(group: Subtopology) -> dict[str, _Drawn]:
    """Linked in the order of Kafka's hash table, because lists are sorted by sizes as they are known by
    then.
    """
    drawn = {node.name: _Drawn(node) for node in group.nodes}
    for name in java_order(drawn):
        for parent in dict.fromkeys(drawn[name].node.parents):
            drawn[name].before.add(drawn[parent])
            drawn[parent].after.add(drawn[name])
            drawn[parent].grow(drawn[name].size)
    return drawn


def java_order(names: Iterable[str]) -> list[str]:
    """The order in which Java's hash tables list strings."""
    known = list(dict.fromkeys(names))
    buckets = 16
    while len(known) > buckets * 3 // 4:
        buckets *= 2
    return sorted(known, key=lambda name: _spread(name) & (buckets - 1))


def _spread(text: str) -> int:
    code = 0
    for unit in _units(text):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code ^ (code >> 16)


def _units(text: str) -> list[int]:
    raw = text.encode("utf-16-be")
    return [raw[at] << 8 | raw[at + 1] for at in range(0, len(raw), 2)]
