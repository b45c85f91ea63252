"""Draws the pictures of docs/performance.md from the tables of the newest evidence page.

`python -m benchmarks.plots` writes them; a test compares them with what is committed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

DOCS: Final = Path(__file__).parent.parent / "docs"
BATCHES: Final = ("1 KB", "16 KB", "100 KB", "1 MB")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 720, 340, 56, 44, 48, 232
COLOURS: Final = ("#0b62a4", "#5aa9e6", "#b34700", "#f0a35e")
CASE: Final = re.compile(r"100 B, (\w+), (\d+) connections?, batch ([\w ]+)")


class Picture(NamedTuple):
    heading: str  # of the table in the evidence page
    title: str
    file: str


PICTURES: Final = (
    Picture("Produce", "Produce, records of 100 B: MB/s of Penstock over Kafka's", "performance-produce.svg"),
    Picture("Consume", "Consume, records of 100 B: MB/s of Penstock over Kafka's", "performance-consume.svg"),
)


def main() -> None:
    evidence = newest_evidence().read_text()
    for picture in PICTURES:
        (DOCS / "images" / picture.file).write_text(draw(picture, evidence))


def newest_evidence() -> Path:
    return max((DOCS / "evidence").glob("*-performance.md"))


def draw(picture: Picture, evidence: str) -> str:
    return line_chart(picture.title, series(table(evidence, picture.heading)))


def table(evidence: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    below = evidence.partition(f"### {heading}\n")[2]
    lines = [line for line in below.partition("\n### ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def series(rows: Iterable[Sequence[str]]) -> dict[str, list[float]]:
    """The ratio by batch size, one line for each number of connections and codec."""
    lines: dict[str, dict[str, float]] = {}
    for case, *cells in rows:
        if found := CASE.fullmatch(case):
            codec, connections, batch = found.groups()
            name = f"{connections} connection{'s' if connections != '1' else ''}, {codec}"
            lines.setdefault(name, {})[batch] = float(cells[2])
    return {name: [line[batch] for batch in BATCHES] for name, line in lines.items()}


def line_chart(title: str, lines: Mapping[str, Sequence[float]]) -> str:
    """A chart with a logarithmic axis from a quarter to four, and a thick line where both are equal."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        ' font-size="13">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold">{title}</text>',
    ]
    for value in (0.25, 0.5, 1, 2, 4):
        y = _y(value)
        colour, thickness = ("#555555", 2) if value == 1 else ("#dddddd", 1)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="{colour}"'
            f' stroke-width="{thickness}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:g}×</text>'
        )
    for index, batch in enumerate(BATCHES):
        parts.append(f'<text x="{_x(index)}" y="{HEIGHT - BOTTOM + 22}" text-anchor="middle">{batch}</text>')
    parts.append(
        f'<text x="{_x(1.5)}" y="{HEIGHT - 8}" text-anchor="middle" fill="#555555">size of a batch</text>'
    )
    for order, (name, values) in enumerate(lines.items()):
        parts += _line(name, values, order)
    return "\n".join([*parts, "</svg>", ""])


def _line(name: str, values: Sequence[float], order: int) -> list[str]:
    colour = COLOURS[order % len(COLOURS)]
    points = [(_x(index), _y(value)) for index, value in enumerate(values)]
    drawn = " ".join(f"{x},{y}" for x, y in points)
    y = TOP + 12 + 24 * order
    x = WIDTH - RIGHT + 24
    dots = [f'<circle cx="{at}" cy="{height}" r="4" fill="{colour}"/>' for at, height in points]
    return [
        f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2.5"/>',
        *dots,
        f'<line x1="{x}" x2="{x + 22}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>',
        f'<text x="{x + 30}" y="{y + 4}">{name}</text>',
    ]


def _x(index: float) -> float:
    return round(LEFT + 40 + index * (WIDTH - RIGHT - LEFT - 80) / (len(BATCHES) - 1), 1)


def _y(value: float) -> float:
    share = (math.log2(min(max(value, 0.25), 4)) + 2) / 4
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)


if __name__ == "__main__":
    main()
