"""The tutorial of docs/connector-api.md: the connector on that page is loaded from a folder and works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.connect.api.guards import ALLOWED_PATHS, Forbidden
from penstock.connect.api.source import SourceConnector
from penstock.connect.api.test_kit import run_source
from penstock.connect.config.validation import Defaults, validate
from penstock.connect.pipeline.source_work import SourceBatch
from penstock.connect.plugins import Plugin, load_plugins

PAGE = Path(__file__).parents[2] / "docs" / "connector-api.md"
LINES_MAX = 42  # 40 of code, with its docstring
JSON = "org.apache.kafka.connect.json.JsonConverter"
DEFAULTS = Defaults(JSON, JSON, "org.apache.kafka.connect.storage.SimpleHeaderConverter")


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    source = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    assert len([line for line in source.splitlines() if line.strip()]) <= LINES_MAX
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "file_count.py").write_text(source)
    return load_plugins(str(tmp_path / "plugins")).find("FileCount")


def config(tmp_path: Path, **more: str) -> dict[str, str]:
    for name, count in (("a", 2), ("b", 0)):
        (tmp_path / name).mkdir(exist_ok=True)
        for number in range(count):
            (tmp_path / name / str(number)).touch()
    folders = f"{tmp_path / 'a'}, {tmp_path / 'b'}"
    return {"folders": folders, "topic": "counts", ALLOWED_PATHS: str(tmp_path), **more}


def test_it_emits_what_changed_and_divides_its_folders(plugin: Plugin, tmp_path: Path) -> None:
    assert issubclass(plugin.connector, SourceConnector)
    given = config(tmp_path, **{"tasks.max": "2"})
    emitted = run_source(plugin.connector, given)
    assert [each.record.value for each in emitted] == [
        {"folder": "a", "files": 2}, {"folder": "b", "files": 0},
    ]  # fmt: skip
    offsets = [(each.partition, each.offset) for each in emitted]
    (tmp_path / "b" / "new").touch()
    again = run_source(plugin.connector, given, offsets)
    assert [each.record.value for each in again] == [{"folder": "b", "files": 1}]


def test_a_batch_of_it_has_records_and_offsets(plugin: Plugin, tmp_path: Path) -> None:
    given = config(tmp_path, **{"value.converter": JSON, "value.converter.schemas.enable": "false"})
    folder = str(tmp_path / "plugins")
    batch = SourceBatch("counts", "FileCount", folder, ((0, given),), (), "offsets", DEFAULTS)
    records, offsets, note = list[Any](batch.rows(0))
    assert [json.loads(row.value)["files"] for row in records] == [2, 0]
    assert [json.loads(row.value) for row in offsets] == [{"files": 2}, {"files": 0}]
    assert json.loads(note)["error"] is None


def test_its_settings_are_checked_and_other_folders_are_forbidden(plugin: Plugin, tmp_path: Path) -> None:
    found = validate(plugin, {"connector.class": "FileCount", "name": "c"}, DEFAULTS)
    missing = [error for error in found.errors if "Missing required" in error]
    assert len(missing) == 2
    with pytest.raises(Forbidden):
        run_source(plugin.connector, {**config(tmp_path), "folders": "/etc"})  # type: ignore[arg-type]
