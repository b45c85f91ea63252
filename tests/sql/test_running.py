"""The runner of cases says what differs, record by record, and takes ksqlDB's words for an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.sql.testing import BadCase, read_cases, run_file
from penstock.sql.testing.comparing import same

STATEMENTS = [
    "CREATE STREAM T (K STRING KEY, V INT) WITH (kafka_topic='t', value_format='{FORMAT}');",
    "CREATE STREAM O AS SELECT K, V + 1 AS W FROM T;",
]


def written(path: Path, **case: Any) -> Path:
    file = path / "cases.json"
    given = {"name": "one", "statements": STATEMENTS, "format": ["JSON"], **case}
    file.write_text(json.dumps({"tests": [given]}))
    return file


def record(topic: str, key: Any, value: Any, **more: Any) -> dict[str, Any]:
    return {"topic": topic, "key": key, "value": value, **more}


IN = [record("t", "a", {"V": 1}, timestamp=5)]


def test_a_case_runs_once_for_each_format(tmp_path: Path) -> None:
    file = written(tmp_path, format=["JSON", "AVRO"], inputs=IN, outputs=[record("O", "a", {"W": 2})])
    assert [(result.name, result.passed) for result in run_file(file)] == [
        ("one - JSON", True),
        ("one - AVRO", True),
    ]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([record("O", "b", {"W": 2})], 'O record 0: key "a", expected "b"'),
        ([record("O", "a", {"W": 3})], 'O record 0: value {"W":2}, expected {"W":3}'),
        ([record("O", "a", {"W": 2, "X": 1})], "value"),
        ([record("O", "a", {"W": 2}, timestamp=6)], "timestamp 5, expected 6"),
        ([record("O", "a", {"W": 2}, window={"start": 0, "end": 1, "type": "time"})], "no window"),
        ([record("O", "a", {"W": 2})] * 2, "O: Expected <2> records but it was <1>"),
        ([record("P", "a", {"W": 2})], "P: Expected <1> records but it was <0>"),
    ],
)
def test_every_difference_is_shown(tmp_path: Path, outputs: list[dict[str, Any]], message: str) -> None:
    (result,) = run_file(written(tmp_path, inputs=IN, outputs=outputs))
    assert message in "\n".join(result.differences)


def test_an_error_must_be_expected_and_have_the_words(tmp_path: Path) -> None:
    statements = [STATEMENTS[0], "CREATE STREAM O AS SELECT V FROM T;"]
    (unexpected,) = run_file(written(tmp_path, statements=statements))
    assert "Key missing from projection" in unexpected.differences[0]
    expected = {"message": "must include the key column K"}
    assert run_file(written(tmp_path, statements=statements, expectedException=expected))[0].passed
    other = {"message": "something else"}
    assert not run_file(written(tmp_path, statements=statements, expectedException=other))[0].passed
    (none,) = run_file(written(tmp_path, expectedException=expected))
    assert none.differences == ("no error, expected 'must include the key column K'",)


def test_skipped_rows_are_in_the_log(tmp_path: Path) -> None:
    (result,) = run_file(written(tmp_path, inputs=[record("t", "a", {"V": "x"})], outputs=[]))
    assert result.passed
    assert "Failed to deserialize value from topic: t" in result.log[0]


def test_a_file_without_cases_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    for text, message in (("{", "is no JSON"), ("[]", "holds no cases")):
        file.write_text(text)
        with pytest.raises(BadCase, match=message):
            read_cases(file)


@pytest.mark.parametrize(
    "broken",
    [
        5,
        {},
        {"name": "n"},
        {"name": "n", "statements": 5},
        {"name": "n", "statements": ["CREATE"]},
        {"name": "n", "statements": [], "inputs": [5]},
        {"name": "n", "statements": [], "inputs": [{"key": 1}]},
        {"name": "n", "statements": [], "outputs": [{"topic": "t", "window": 5}]},
        {"name": "n", "statements": [], "topics": [{"partitions": 2}]},
        {"name": "n", "statements": [], "topics": [{"name": "t", "valueSchema": {"type": "nonsense"}}]},
        {"name": "n", "statements": STATEMENTS, "inputs": [{"topic": "t", "key": [], "timestamp": "x"}]},
        {"name": "n", "statements": STATEMENTS, "outputs": [{"topic": "nowhere", "value": 1}]},
    ],
)
def test_a_case_that_cannot_be_run_fails_alone(tmp_path: Path, broken: Any) -> None:
    whole = json.loads(written(tmp_path).read_text())["tests"][0]
    file = tmp_path / "two.json"
    file.write_text(json.dumps({"tests": [broken, whole]}))
    results = run_file(file)
    assert results[-1].passed
    schema_alone = isinstance(broken, dict) and "topics" in broken and "name" in broken["topics"][0]
    assert [result.passed for result in results[:-1]] == [schema_alone]


def test_all_fields_of_the_layout_are_taken(tmp_path: Path) -> None:
    """Those that describe what is there afterwards, or the test itself, change nothing."""
    topic = {"name": "t", "partitions": 1, "replicas": 1, "keyFormat": {"format": "KAFKA"}, "keySchema": None}
    post = {"sources": [{"name": "O", "type": "stream"}], "topics": {"topics": [{"name": "O"}]}}
    extra: dict[str, Any] = {"topics": [topic], "post": post, "comments": ["why"], "enabled": True}
    extra |= {"properties": None, "expectedException": None, "versions": {"min": "5.0"}}
    assert [result.passed for result in run_file(written(tmp_path, **extra))] == [True]


def test_numbers_are_equal_by_value_and_a_missing_field_is_null() -> None:
    assert same({"A": 1, "B": None}, {"A": 1.0})
    assert not same({"A": 1}, {"A": True})
    assert not same({"A": [1, 2]}, {"A": [2, 1]})
    assert not same({"A": 1}, {"B": 1})
