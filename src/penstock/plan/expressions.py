"""Column expressions in a plan: where they may stand, and the plan that is left for Python when Spark has
computed them.

Spark computes rows before a task gets them, so expressions stand right behind a source: a chain of operators
without state, each with an expression. `heads` finds these chains and refuses all others; a host compiles
them (`spark/host/expressions.py`), the test driver has no JVM and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from penstock.kernels.expressions import ColumnExpression
from penstock.kernels.operation import Operation
from penstock.kernels.serdes import Serde
from penstock.kernels.stateless import Filter, Map, MapValues, SelectKey
from penstock.kernels.timestamps import OWN_TIME, WallclockTime
from penstock.plan.errors import TopologyError
from penstock.plan.nodes import Node, Sink, Source
from penstock.plan.plan import Plan

_MAPPERS: Final = (Map, MapValues, SelectKey)


@dataclass(frozen=True)
class Head:
    """A source and the expressions behind it."""

    node: Node
    steps: tuple[Node, ...]
    sink: Node | None
    """The only child of the last step, if that is a sink."""

    @property
    def source(self) -> Source:
        assert isinstance(self.node.operation, Source)
        return self.node.operation


class Rest(NamedTuple):
    """What stays for Python of a head."""

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    operation: Operation
    """Stands for the whole chain, under the name of its last step."""


def heads(plan: Plan) -> tuple[Head, ...]:
    """All chains of expressions; a `TopologyError` for an expression that is not in one."""
    found = tuple(head for node, _ in plan.sources if (head := _head(plan, node)).steps)
    known = {step.name for head in found for step in head.steps}
    for node, expression in plan.column_expressions:
        if node.name not in known:
            raise TopologyError(
                f"{node.name} computes {expression.sql!r}: expressions are computed before Python functions, "
                "in filter, map, map_values and select_key right behind a stream's topic and nowhere else. "
                "Write a Python function, or put repartition() before it",
                node.origin,
            )
    for head in found:
        if not isinstance(head.source.extractor, (*OWN_TIME, WallclockTime)):
            raise TopologyError(
                f"{head.steps[0].name} is an expression behind {head.node.name}, whose timestamp extractor "
                "is a Python function and must see the record first: write a Python function here, too",
                head.steps[0].origin,
            )
    return found


def expression_of(node: Node) -> ColumnExpression | None:
    """What a step computes."""
    operation = node.operation
    function: Any = None
    if isinstance(operation, Filter):
        function = operation.predicate
    elif isinstance(operation, _MAPPERS):
        function = operation.function
    return function if isinstance(function, ColumnExpression) else None


def _head(plan: Plan, node: Node) -> Head:
    steps: list[Node] = []
    last = node
    while (child := _only_child(plan, last)) is not None and expression_of(child) is not None:
        steps.append(child)
        last = child
    return Head(node, tuple(steps), child if child and isinstance(child.operation, Sink) else None)


def _only_child(plan: Plan, node: Node) -> Node | None:
    children = [plan.by_name[name] for name in plan.children[node.name]]
    return children[0] if len(children) == 1 and children[0].parents == (node.name,) else None


def without(plan: Plan, rests: Mapping[str, Rest]) -> Plan:
    """The plan without its expressions; `rests` are by the sources' names."""
    nodes: dict[str, Node] = {node.name: node for node in plan.nodes}
    for head in heads(plan):
        rest, last = rests[head.node.name], head.steps[-1]
        source = replace(head.source, key_serde=rest.key_serde, value_serde=rest.value_serde)
        nodes[head.node.name] = replace(head.node, operation=source)
        for step in head.steps[:-1]:
            del nodes[step.name]
        nodes[last.name] = replace(last, operation=rest.operation, parents=(head.node.name,))
    return replace(plan, nodes=tuple(nodes.values()))
