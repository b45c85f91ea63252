"""What a type checker, and so an editor, makes of a topology."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
from penstock.streams import JoinWindows, LongSerde, StreamsBuilder, StringSerde, TimeWindows

builder = StreamsBuilder()
numbers = builder.stream("a", key_serde=StringSerde(), value_serde=LongSerde())
names = builder.table("b", key_serde=StringSerde(), value_serde=StringSerde())
reveal_type(numbers)
reveal_type(numbers.map_values(lambda n: [n]))
reveal_type(numbers.map_values(lambda k, n: k, with_key=True))
reveal_type(numbers.select_key(lambda k, n: n))
reveal_type(numbers.group_by_key().count())
reveal_type(numbers.group_by_key().aggregate(str, lambda k, n, text: text))
reveal_type(numbers.group_by_key().windowed_by(TimeWindows(10)).reduce(max))
reveal_type(numbers.join(numbers, lambda one, other: 1.5, JoinWindows(5)))
reveal_type(names.to_stream())
reveal_type(names.group_by(lambda k, name: (len(name), name)).count())
numbers.filter(lambda k, n: n.upper())
"""

REVEALED = [
    "KStream[str, int]",
    "KStream[str, list[int]]",
    "KStream[str, str]",
    "KStream[int, int]",
    "KTable[str, int]",
    "KTable[str, str]",
    "KTable[Windowed, int]",
    "KStream[str, float]",
    "KStream[str, str]",
    "KTable[int, int]",
]


def test_types_flow_through_a_topology_and_mistakes_are_found(tmp_path: Path) -> None:
    program = tmp_path / "topology.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", str(program)]  # with the project's own cache
    told = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=ROOT).stdout.splitlines()
    types = [line.split('"')[1] for line in told if "Revealed type" in line]
    short = [kind.replace("builtins.", "") for kind in types]
    assert [_last_names(kind) for kind in short] == REVEALED
    errors = [line for line in told if "error:" in line]
    assert len(errors) == 1
    assert '"int" has no attribute "upper"' in errors[0]


def _last_names(kind: str) -> str:
    """`a.b.KStream[str, int]` without the modules, and a named tuple without what it is made of."""
    kind = kind.replace("tuple[Any, int, int, fallback=penstock.kernels.record.Windowed]", "Windowed")
    head, bracket, rest = kind.partition("[")
    return head.rpartition(".")[2] + bracket + rest.replace("penstock.kernels.record.", "")
