"""Rule 12: no transactions that read from each other in a circle (G1c by
write-read edges alone; G0 is legal)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from penstock.testing.history.events import NO_TRANSACTION, Isolation, Seen
from penstock.testing.history.ledger import Ledger, Outcome, Transaction
from penstock.testing.history.sightings import Sightings
from penstock.testing.history.violation import Rule, Violation, shown

Node = tuple[str, int]


class _Read(NamedTuple):
    """Why an edge is there."""

    value: Seen
    event: int


Graph = dict[Node, dict[Node, _Read]]


def no_read_cycle(ledger: Ledger, sightings: Sightings) -> Iterator[Violation]:
    graph = _graph(ledger)
    for component in _components(graph):
        if len(component) > 1:
            yield _violation(graph, _shortest_cycle(graph, component))


def _graph(ledger: Ledger) -> Graph:
    """From the transaction that wrote a value to the one that read it under read_committed."""
    graph: Graph = {}
    for poll in ledger.polls:
        reader = (poll.client, poll.request.transaction)
        if (
            not poll.is_ok
            or poll.request.transaction == NO_TRANSACTION
            or poll.request.isolation is not Isolation.READ_COMMITTED
            or _is_aborted(ledger.transactions.get(reader))
        ):
            continue
        for record in poll.result.records:
            writer = ledger.transaction_of(record.value)
            if writer is not None and (writer.client, writer.number) != reader:
                edges = graph.setdefault((writer.client, writer.number), {})
                edges.setdefault(reader, _Read(record.value, poll.ended))
    return graph


def _is_aborted(transaction: Transaction | None) -> bool:
    return transaction is not None and transaction.outcome is Outcome.ABORTED


def _components(graph: Graph) -> Iterator[list[Node]]:
    """Tarjan's strongly connected components, in linear time and without recursion."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(graph.get(successor, ()))))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    yield _pop_component(node, stack, on_stack)


def _pop_component(root: Node, stack: list[Node], on_stack: set[Node]) -> list[Node]:
    component: list[Node] = []
    while not component or component[-1] != root:
        component.append(stack.pop())
        on_stack.discard(component[-1])
    return component


def _shortest_cycle(graph: Graph, component: list[Node]) -> list[Node]:
    """A shortest circle through one node of the component."""
    inside, start = set(component), min(component)
    came_from: dict[Node, Node] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for successor in graph.get(node, ()):
            if successor == start:
                path = [node]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if successor in inside and successor not in came_from:
                came_from[successor] = node
                queue.append(successor)
    raise AssertionError(f"no cycle through {start}, though its component has {len(component)} nodes")


def _violation(graph: Graph, cycle: list[Node]) -> Violation:
    edges = [(writer, reader, graph[writer][reader]) for writer, reader in pairwise([*cycle, cycle[0]])]
    steps = "; ".join(
        f"transaction {reader[1]} of {reader[0]} read {shown(read.value)} of transaction {writer[1]} of "
        f"{writer[0]}"
        for writer, reader, read in edges
    )
    return Violation(
        Rule.NO_READ_CYCLE,
        f"transactions read from each other in a circle: {steps}",
        None,
        (),
        tuple(read.value for _, _, read in edges),
        tuple(read.event for _, _, read in edges),
    )
