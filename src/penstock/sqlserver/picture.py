"""An execution plan as a picture in text: boxes from the sources down to the result, with lines between."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.plan.plan import Plan

GAP: Final = 2


class _Block(NamedTuple):
    """Lines of equal width, and the column at which the next step hangs."""

    lines: list[str]
    middle: int

    @property
    def width(self) -> int:
        return len(self.lines[0])


def picture(plan: Plan) -> str:
    """One picture for each result. A step that feeds several is drawn in each of them."""
    parents = {parent for node in plan.nodes for parent in node.parents}
    ends = [node.name for node in plan.nodes if node.name not in parents]
    return "\n\n".join("\n".join(line.rstrip() for line in _drawn(plan, name).lines) for name in ends)


def _drawn(plan: Plan, name: str) -> _Block:
    node = plan.by_name[name]
    words = [type(node.operation).__name__, name, *(f"store {store}" for store in node.stores)]
    words += [f"topic {topic}" for topic in _topics(node.operation)]
    box = _box(words)
    above = [_drawn(plan, parent) for parent in node.parents]
    return box if not above else _hung(_beside(above), box)


def _topics(operation: object) -> list[str]:
    found = getattr(operation, "topics", None) or getattr(operation, "topic", None) or ()
    return [str(found)] if not isinstance(found, tuple | list) else [str(each) for each in found]


def _box(words: list[str]) -> _Block:
    width = max(map(len, words))
    edge = "─" * (width + 2)
    lines = [f"┌{edge}┐", *(f"│ {word.ljust(width)} │" for word in words), f"└{edge}┘"]
    return _Block(lines, (width + 4) // 2)


def _beside(blocks: list[_Block]) -> tuple[list[str], list[int]]:
    """Blocks side by side, their last lines in one row; and where each ends."""
    height = max(len(block.lines) for block in blocks)
    rows = [""] * height
    middles, at = [], 0
    for block in blocks:
        padded = [" " * block.width] * (height - len(block.lines)) + block.lines
        rows = [row + line + " " * GAP for row, line in zip(rows, padded, strict=True)]
        middles.append(at + block.middle)
        at += block.width + GAP
    return rows, middles


def _hung(above: tuple[list[str], list[int]], box: _Block) -> _Block:
    rows, middles = above
    middle = (middles[0] + middles[-1]) // 2
    shift = max(0, middle - box.middle)
    middle = shift + box.middle
    width = max(len(rows[0]), shift + box.width)
    joint = _joint(middles, middle, width) if middles != [middle] else []
    arrow = " " * middle + "▼"
    lines = [*rows, *joint, arrow, *(" " * shift + line for line in box.lines)]
    return _Block([line.ljust(width) for line in lines], middle)


def _joint(middles: list[int], middle: int, width: int) -> list[str]:
    """A line that brings several steps together above the next one."""
    first, last = min([*middles, middle]), max([*middles, middle])
    chars = [" "] * width
    for at in range(first, last + 1):
        chars[at] = "─"
    for at in middles:
        chars[at] = "┴"
    chars[first] = "└" if first in middles else "┌"
    chars[last] = "┘" if last in middles else "┐"
    chars[middle] = "┬" if middle not in middles else "┼"
    return ["".join(chars)]
