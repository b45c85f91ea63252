"""Files of a directory to a topic: formats, offsets, files that are moved, that grow, that cannot be read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.guards import ALLOWED_PATHS, Forbidden
from penstock.connect.api.source import SourceOffsets, SourceRecord
from penstock.connect.api.test_kit import run_source
from penstock.connect.connectors.files.formats import encoded
from penstock.connect.connectors.files.source import FilesSource, SpoolDirCsvSource
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError

USER = s.struct_schema({"id": s.INT32, "city": s.STRING.as_optional()}, name="user")


def settings(tmp_path: Path, **more: str) -> dict[str, str]:
    config = {"input.path": str(tmp_path / "in"), "topic": "t", ALLOWED_PATHS: str(tmp_path)}
    (tmp_path / "in").mkdir(exist_ok=True)
    return config | {name.replace("_", "."): value for name, value in more.items()}


def values(emitted: list[SourceRecord]) -> list[Any]:
    found = [each.record.value for each in emitted if each.record is not None]
    return [dict(each.items()) if isinstance(each, Struct) else each for each in found]


def reached(emitted: list[SourceRecord]) -> list[Any]:
    """Where a worker would begin again."""
    return SourceOffsets().advanced([(each.partition, each.offset) for each in emitted]).items()


def test_csv_with_quotes_over_lines_and_a_key(tmp_path: Path) -> None:
    config = settings(tmp_path, csv_first_row_as_header="true", schema_generation_key_fields="id")
    (tmp_path / "in" / "a.csv").write_text('id,text\n1,"x\ny"\n2,\n3,"say ""so"""\n')
    emitted = run_source(FilesSource, config, polls=3)
    assert [each["text"] for each in values(emitted)] == ["x\ny", "", 'say "so"']
    assert emitted[0].record is not None
    assert emitted[0].record.key.get("id") == "1"
    assert {each.key: each.value for each in emitted[0].record.headers}["file.name"] == "a.csv"
    assert run_source(FilesSource, config, reached(emitted), polls=3) == []


@pytest.mark.parametrize("cut", range(1, 5))
@pytest.mark.parametrize("kind", ["csv", "json", "xml", "parquet", "avro", "txt"])
def test_reading_goes_on_where_it_ended_in_every_format(tmp_path: Path, kind: str, cut: int) -> None:
    config = settings(tmp_path, csv_first_row_as_header="true", batch_size="1")
    path = tmp_path / "in" / f"a.{kind}"
    records = [
        ConnectRecord("t", value=Struct(USER, {"id": n, "city": f"c{n}"}), value_schema=USER)
        for n in range(5)
    ]
    if kind in ("csv", "json", "parquet", "avro"):
        path.write_bytes(encoded(kind, records))
    elif kind == "xml":
        rows = "".join(f"<u><id>{n}</id><city>c{n}</city></u>" for n in range(5))
        path.write_text(f"<?xml version='1.0'?><all>{rows}</all>")
    else:
        path.write_text("".join(f"c{n}\n" for n in range(5)))
    first = run_source(FilesSource, config, polls=cut)
    rest = run_source(FilesSource, config, reached(first), polls=9)
    found = values(first) + values(rest)
    assert [each if kind == "txt" else each["city"] for each in found] == [f"c{n}" for n in range(5)]
    assert rest[-1].offset["done"] is True


def test_types_of_parquet_are_kept(tmp_path: Path) -> None:
    import datetime as dt
    from decimal import Decimal

    row = {
        "n": 1, "f": 1.5, "d": Decimal("1.20"), "t": dt.datetime(2024, 1, 2, 3, tzinfo=dt.UTC),
        "day": dt.date(2024, 1, 2), "l": ["a"], "s": {"x": None}, "b": b"\x00",
    }  # fmt: skip
    fields = [
        ("n", pa.int64()), ("f", pa.float32()), ("d", pa.decimal128(10, 2)), ("t", pa.timestamp("us", "UTC")),
        ("day", pa.date32()), ("l", pa.list_(pa.string())), ("s", pa.struct([("x", pa.int8())])),
        ("b", pa.binary()),
    ]  # fmt: skip
    config = settings(tmp_path)
    pq.write_table(pa.Table.from_pylist([row], schema=pa.schema(fields)), tmp_path / "in" / "a.parquet")
    [emitted] = [each for each in run_source(FilesSource, config) if each.record is not None]
    assert emitted.record is not None
    value = emitted.record.value
    assert value.get("d") == Decimal("1.20")
    assert value.get("day") == dt.datetime(2024, 1, 2, tzinfo=dt.UTC)
    assert value.get("s").get("x") is None
    assert value.schema.field("d").schema.name == s.DECIMAL_NAME


def test_a_file_that_grows_is_read_on_and_many_tasks_read_each_file_once(tmp_path: Path) -> None:
    config = settings(tmp_path, tasks_max="3")
    for name in "abcdef":
        (tmp_path / "in" / f"{name}.json").write_text(json.dumps({"f": name}) + "\n")
    emitted = run_source(FilesSource, config, polls=9)
    assert sorted(each["f"] for each in values(emitted)) == list("abcdef")
    with (tmp_path / "in" / "a.json").open("a") as more:
        more.write('{"f": "later"}\n')
    os.utime(tmp_path / "in" / "a.json", (1, 1))
    assert values(run_source(FilesSource, config, reached(emitted), polls=9)) == [{"f": "later"}]


def test_files_that_are_in_the_topic_are_moved_and_their_names_may_come_again(tmp_path: Path) -> None:
    config = settings(tmp_path, cleanup_policy="MOVE", finished_path=str(tmp_path / "done"))
    path = tmp_path / "in" / "a.json"
    path.write_text("1\n")
    emitted = run_source(FilesSource, config, polls=2)
    offsets = SourceOffsets(reached(emitted))
    made = FilesSource(config)
    made.committed(offsets)
    assert (tmp_path / "done" / "a.json").read_text() == "1\n"
    assert not made.has_news(offsets)
    path.write_text("2\n")
    os.utime(path, (5, 5))
    assert FilesSource(config).has_news(offsets)
    assert values(run_source(FilesSource, config, offsets.items(), polls=2)) == [2]


def test_a_file_that_cannot_be_read_stops_the_task_or_moves_away(tmp_path: Path) -> None:
    config = settings(tmp_path)
    (tmp_path / "in" / "a.json").write_text("1\nnonsense\n3\n")
    task: Any = FilesSource.TASK(config, SourceOffsets())
    assert values(task.poll()) == [1]
    with pytest.raises(DataError, match=r"a\.json: line 2 is no JSON"):
        task.poll()
    config |= {"halt.on.error": "false", "error.path": str(tmp_path / "bad")}
    emitted = run_source(FilesSource, config, polls=3)
    assert values(emitted) == [1]
    FilesSource(config).committed(SourceOffsets(reached(emitted)))
    assert (tmp_path / "bad" / "a.json").exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.parquet", b"no"), ("a.avro", b"no"), ("a.csv", b"\xff\xfe"), ("a.csv", b"a,b\n1\n"),
        ("a.xml", b"<a><b></a>"), ("a.xml", b"<!DOCTYPE x [<!ENTITY e 'f'>]><x><y>&e;</y></x>"),
        ("a.xml", b"<a>" * 1000), ("a.json", b"[" * 100_000), ("a.unknown", b"x"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_its_kind_is_said(tmp_path: Path, name: str, data: bytes) -> None:
    config = settings(tmp_path, csv_first_row_as_header="true")
    (tmp_path / "in" / name).write_bytes(data)
    with pytest.raises(DataError, match=name):
        run_source(FilesSource, config, polls=3)


def test_empty_files_and_files_without_a_last_line_end(tmp_path: Path) -> None:
    config = settings(tmp_path)
    (tmp_path / "in" / "a.json").write_text("")
    (tmp_path / "in" / "b.csv").write_text("")
    (tmp_path / "in" / "c.json").write_text('\n{"x": 1}')
    (tmp_path / "in" / ".hidden.json").write_text("1\n")
    emitted = run_source(FilesSource, config, polls=5)
    assert values(emitted) == [{"x": 1}]
    assert len(reached(emitted)) == 3


def test_xml_has_attributes_lists_and_text(tmp_path: Path) -> None:
    config = settings(tmp_path, xml_record_element="item")
    text = '<r><g><item id="1"><t>a</t><t>b</t>x</item><item>only</item></g></r>'
    (tmp_path / "in" / "a.xml").write_text(text)
    assert values(run_source(FilesSource, config)) == [
        {"@id": "1", "t": ["a", "b"], "#text": "x"},
        {"item": "only"},
    ]


def test_no_link_leads_out_and_every_mistake_is_reported(tmp_path: Path) -> None:
    config = settings(tmp_path)
    config[ALLOWED_PATHS] = str(tmp_path / "in")
    (tmp_path / "secret.json").write_text("1\n")
    (tmp_path / "in" / "link.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(Forbidden):
        run_source(FilesSource, config)
    bad = settings(
        tmp_path, input_path="/etc", cleanup_policy="MOVE", value_schema="{}", halt_on_error="false"
    )
    assert {name for name, _ in FilesSource.check(bad)} == {
        "input.path", "finished.path", "value.schema", "error.path"
    }  # fmt: skip
    away = settings(tmp_path, cleanup_policy="MOVE", finished_path="/etc/done")
    assert [name for name, _ in FilesSource.check(away)] == ["finished.path"]


def test_the_spool_dir_classes_fix_the_format(tmp_path: Path) -> None:
    config = settings(tmp_path, csv_separator_char="59")
    (tmp_path / "in" / "a.dat").write_text("1;2\n")
    assert values(run_source(SpoolDirCsvSource, config)) == [{"column01": "1", "column02": "2"}]
