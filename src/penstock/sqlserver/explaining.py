"""An execution plan as text: its steps from the result to the sources, indented by their distance."""

from __future__ import annotations

from penstock.plan.plan import Plan


def explained(plan: Plan) -> str:
    """One line a step, the last one first."""
    children = {parent for node in plan.nodes for parent in node.parents}
    lines: list[str] = []
    for node in reversed(plan.nodes):
        if node.name not in children:
            _write(plan, node.name, 0, lines)
    return "\n".join(lines)


def _write(plan: Plan, name: str, depth: int, lines: list[str]) -> None:
    node = plan.by_name[name]
    kind = type(node.operation).__name__
    indent = "\t" * depth
    stores = f" | Stores: {', '.join(node.stores)}" if node.stores else ""
    lines.append(f"{indent} > [ {kind.upper()} ] | Name: {name}{stores}")
    for parent in node.parents:
        _write(plan, parent, depth + 1, lines)
