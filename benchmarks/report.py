"""Tables for people: Markdown that also reads well in a terminal. P is Penstock, K is Apache Kafka."""

from __future__ import annotations

from benchmarks.results import Metric, Row, Table

MISSING = "–"


def markdown(table: Table) -> str:
    systems = table.systems
    header = ["case"]
    for metric in table.metrics:
        header += [f"{metric.name} {system[0]}" if len(systems) > 1 else metric.name for system in systems]
        if metric.ratio and len(systems) > 1:
            header.append("P/K")
    lines = [header, *(_cells(row, table.metrics, systems) for row in table.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    shown = ["| " + " | ".join(_aligned(line, widths)) + " |" for line in lines]
    shown.insert(
        1, "|" + "|".join("-" * (width + 1) + (":" if i else "-") for i, width in enumerate(widths)) + "|"
    )
    notes = [f"\n{note}" for note in table.notes]
    return "\n".join([f"### {table.title}\n", *shown, *notes]) + "\n"


def _cells(row: Row, metrics: tuple[Metric, ...], systems: list[str]) -> list[str]:
    cells = [row.case]
    for metric in metrics:
        cells += [_number(row.median(system, metric.name), metric.digits) for system in systems]
        if metric.ratio and len(systems) > 1:
            ratio = row.ratio(systems, metric.name)
            cells.append(MISSING if ratio is None else f"{ratio:.2f}")
    return cells


def _number(value: float | None, digits: int) -> str:
    return MISSING if value is None else f"{value:,.{digits}f}"


def _aligned(line: list[str], widths: list[int]) -> list[str]:
    first, *others = zip(line, widths, strict=True)
    return [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
