"""Trace files: a command, a line `----`, and what happened, block by block; after the model of etcd's traces.

Lines that begin with `#` explain. `tests/<package>/test_traces.py` gives each file a stage, which runs its
commands; `pytest tests/raft tests/controller tests/groups -k traces --rewrite` writes the outcomes anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

TRACES = Path(__file__).parent
RULE = "----"


@dataclass(frozen=True)
class Command:
    """`name word … key=value …`"""

    name: str
    words: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, line: str) -> Command:
        name, *rest = line.split()
        words = tuple(word for word in rest if "=" not in word)
        return cls(name, words, dict(word.split("=", 1) for word in rest if "=" in word))

    def number(self, at: int = 0) -> int:
        return int(self.words[at])

    def numbers(self, option: str) -> tuple[int, ...]:
        """Of an option such as `without=1,2`."""
        text = self.options.get(option, "")
        return tuple(int(part) for part in text.split(",") if part)


class Stage(Protocol):
    """Runs commands, and tells in lines of text what happened."""

    def do(self, command: Command) -> Iterable[str]: ...


def traces(package: str) -> list[Path]:
    return sorted((TRACES / package).glob("*.txt"))


def replayed(text: str, stage: Stage) -> str:
    """The trace as it should read: its explanations and commands, with what happens now."""
    out: list[str] = []
    for block in _blocks(text):
        if out:
            out.append("")
        out += block
        commands = [line for line in block if not line.startswith("#")]
        if commands:
            happened = [line for command in commands for line in stage.do(Command.parse(command))]
            out += [RULE, *(happened or ["ok"])]
    return "\n".join(line.rstrip() for line in out) + "\n"


def _blocks(text: str) -> Iterator[list[str]]:
    """Explanations and commands of each block, without what happened. A blank line ends a block."""
    block: list[str] = []
    skipping = False
    for line in [*text.splitlines(), ""]:
        if not line.strip():
            if block:
                yield block
            block, skipping = [], False
        elif line == RULE:
            skipping = True
        elif not skipping:
            block.append(line)


def check(path: Path, stage: Stage, *, rewrite: bool) -> None:
    """Compare a trace with what happens now, or write it anew."""
    text = path.read_text()
    now = replayed(text, stage)
    if rewrite:
        path.write_text(now)
        return
    assert now == text, f"{path.name} reads otherwise now; --rewrite writes it anew"
