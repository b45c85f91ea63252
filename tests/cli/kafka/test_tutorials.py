"""What tutorials print can be pasted: each line by our command and by Kafka's own, with the same results."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.kafka.run_class import CLASSES
from penstock.cli.kafka.starting import Body
from tests.cli.kafka.side_by_side import Said, SideBySide
from tests.house.sources import ROOT

SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
LINES_MIN = 120
IN_SCALA = ("configs", "dump_log")
"""Commands whose class is among the broker's own in Kafka 4.2."""
TRACE = re.compile(r"\s+at [\w.$]+|Caused by: |[a-z]+(\.[a-z]+)+\.\w+(Exception|Error)\b")
"""Lines of Java's stack traces, which our commands leave out."""
ENDINGS = ("-o", "-k")
"""What the names of a scene get in our run and in Kafka's."""


@dataclass
class Scene:
    """Lines of `tutorials.txt` that belong together."""

    title: str
    own: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def scenes() -> list[Scene]:
    found: list[Scene] = []
    for line in Path(__file__).with_name("tutorials.txt").read_text().splitlines():
        if line.startswith("## "):
            found.append(Scene(line[3:]))
        elif line.startswith("own "):
            found[-1].own = line.split()[1:]
        elif line.startswith("mask "):
            found[-1].masks.append(line[5:])
        elif line and not line.startswith("#"):
            found[-1].lines.append(line)
    return found


SCENES = scenes()


def test_there_are_enough_of_them() -> None:
    assert sum(len(scene.lines) for scene in SCENES) >= LINES_MIN


class Run:
    """One run of a scene, by ours or by Kafka's."""

    def __init__(self, side: SideBySide, scene: Scene, ending: str, folder: Path, data: Path) -> None:
        self._side, self._scene, self._ending = side, scene, ending
        self._folder, self._data = folder, data

    def ours(self, line: str) -> Said:
        fed, name, words = self._parts(line)
        body = _body(SCRIPTS[name])
        return self._side.ours(body, *words, stdin=fed.encode())

    def kafkas(self, line: str) -> Said:
        fed, name, words = self._parts(line)
        return self._side.kafkas(_java_class(SCRIPTS[name]), *words, stdin=fed)

    def _parts(self, line: str) -> tuple[str, str, list[str]]:
        """Standard input, the name of the command and its words."""
        fed, bar, command = line.rpartition(" | ")
        path, *words = shlex.split(self._named(command))
        return (
            self._named(fed.encode().decode("unicode_escape")) + ("\n" if bar else ""),
            Path(path).name,
            words,
        )

    def _named(self, text: str) -> str:
        for name in self._scene.own:
            text = re.sub(rf"\b{name}(?![\w.]*json)", f"{name}{self._ending}", text)
        filled = text.replace("localhost:9092", self._side.servers).replace("DATA", str(self._data))
        return filled.replace("FOLDER", str(self._folder))

    def plain(self, text: str) -> list[str]:
        """Output without what differs from run to run, its lines and their words sorted: Kafka's hash
        tables have no order."""
        for name in self._scene.own:
            text = text.replace(f"{name}{self._ending}", name)
        text = text.replace(str(self._data), "DATA").replace(str(self._folder), "FOLDER")
        for mask in self._scene.masks:
            text = re.sub(mask, ".", text)
        lines = [line for line in text.splitlines() if TRACE.match(line) is None]
        return sorted(" ".join(sorted(re.split(r"[\s,]+", line))).strip() for line in lines if line.strip())


def _body(where: str) -> Body:
    """The function behind an entry point: `module:main` is the command that the module is named for."""
    module, _, name = where.partition(":")
    loaded: Any = importlib.import_module(module)
    return loaded.__dict__[module.rpartition(".")[2]] if name == "main" else loaded.__dict__[name]


def _java_class(where: str) -> str:
    module = where.partition(":")[0].rpartition(".")[2]
    found = [name for name, target in CLASSES.items() if target.partition(":")[0] == module]
    if module in IN_SCALA:
        return next(name for name in found if name.startswith("kafka."))
    return next((name for name in found if name.startswith("org.apache.kafka")), found[0])


def _short(said: Said) -> str:
    return f"{said.code} {said.out[:1500]} {said.err[:300]}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.title)
def test_a_line_of_a_tutorial_does_what_kafkas_does(
    side: SideBySide, scene: Scene, tmp_path: Path, command_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP_SERVERS", side.servers)
    (tmp_path / "none.json").write_text(json.dumps({"topics": [], "version": 1}))
    (tmp_path / "plan.json").write_text(json.dumps({"version": 1, "partitions": []}))
    runs = [Run(side, scene, ending, tmp_path, command_data) for ending in ENDINGS]
    wrong = []
    for line in scene.lines:
        old, _, new = line.partition(" => ")
        for ending in ENDINGS:
            deleted = [{"topic": f"logged{ending}", "partition": 0, "offset": 0}]
            (tmp_path / "delete-logged.json").write_text(json.dumps({"partitions": deleted, "version": 1}))
            if ending == ENDINGS[0]:
                ours = runs[0].ours(old)
            else:
                kafkas = runs[1].kafkas(new or old)
        same = ours.code == kafkas.code and runs[0].plain(ours.out) == runs[1].plain(kafkas.out)
        if not same:
            wrong.append(f"{line}\n-- ours: {_short(ours)}\n-- kafkas: {_short(kafkas)}")
    assert not wrong, "\n\n".join(wrong)
