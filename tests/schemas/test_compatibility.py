"""Golden cases of compatibility: for each pair of schemas what BACKWARD, FORWARD and FULL say, and why.

`cases/avro.json`, `json.json` and `protobuf.json` hold pairs: `backward` says why the new schema cannot
read what the old one wrote, `forward` why the old one cannot read the new; null when it can. `histories.json`
holds longer histories with a verdict for each level.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.schemas.formats import parse
from penstock.schemas.levels import Level, check
from penstock.schemas.schema import ParsedSchema

CASES = Path(__file__).parent / "cases"
FORMATS = {"AVRO": "avro.json", "JSON": "json.json", "PROTOBUF": "protobuf.json"}


def pairs() -> list[Any]:
    return [
        pytest.param(kind, case, level, id=f"{kind}-{case['name']}-{level}")
        for kind, name in FORMATS.items()
        for case in json.loads((CASES / name).read_text())
        for level in (Level.BACKWARD, Level.FORWARD, Level.FULL)
    ]


def histories() -> list[Any]:
    return [
        pytest.param(case, level, reason, id=f"{case['name']}-{level}")
        for case in json.loads((CASES / "histories.json").read_text())
        for level, reason in case["verdicts"].items()
    ]


def parsed(kind: str, schema: Any) -> ParsedSchema:
    if isinstance(schema, str) and schema.startswith("AVRO:"):
        return parse("AVRO", schema.removeprefix("AVRO:"))
    return parse(kind, schema if kind == "PROTOBUF" else json.dumps(schema))


@pytest.mark.parametrize(("kind", "case", "level"), pairs())
def test_a_pair_has_the_verdict_and_the_reason_that_its_specification_gives(
    kind: str, case: dict[str, Any], level: Level
) -> None:
    expected = {
        Level.BACKWARD: [case["backward"]],
        Level.FORWARD: [case["forward"]],
        Level.FULL: [case["forward"], case["backward"]],
    }[level]
    reasons = check(level, parsed(kind, case["new"]), [(1, parsed(kind, case["old"]))])
    wanted = [reason for reason in expected if reason is not None]
    assert bool(reasons) == bool(wanted), reasons
    for reason in wanted:
        assert any(f"'{reason}'" in told for told in reasons), reasons


@pytest.mark.parametrize(("case", "level", "reason"), histories())
def test_transitive_levels_look_at_every_older_version(
    case: dict[str, Any], level: str, reason: str | None
) -> None:
    kind = case["type"]
    older = [(version, parsed(kind, schema)) for version, schema in enumerate(case["older"], 1)]
    reasons = check(Level(level), parsed(kind, case["new"]), older)
    assert bool(reasons) == (reason is not None), reasons
    if reason is not None:
        assert any(reason in told for told in reasons), reasons


def test_reasons_name_the_old_version_and_its_schema() -> None:
    reasons = check(Level.BACKWARD, parse("AVRO", '"string"'), [(7, parse("AVRO", '"int"'))])
    assert reasons[-2:] == ["{oldSchemaVersion: 7}", "{oldSchema: '\"int\"'}"]


def test_there_are_more_than_two_hundred_cases() -> None:
    assert len(pairs()) + len(histories()) > 200
