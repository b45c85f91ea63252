"""Random pairs of schemas of each format: what a verdict promises is tried by reading values.

A reader that is compatible with a writer reads every value that the writer may write. Verdicts are stable:
the same for the texts that the registry writes itself, and for both directions of asking.
"""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import fastavro
import hypothesis
import jsonschema_rs
import pytest
from hypothesis import strategies as st

from penstock.schemas.formats import parse
from penstock.schemas.levels import Level, check
from tests.registry.pairs import avro, json_schema, protobuf

PAIRS = 300
PAIRS_LONG = 10_000
VALUES = 3


def for_many(long_form: bool, attempt: Any) -> None:
    hypothesis.settings(
        max_examples=PAIRS_LONG if long_form else PAIRS,
        deadline=None,
        database=None,
        derandomize=not long_form,
        suppress_health_check=list(hypothesis.HealthCheck),
    )(hypothesis.given(st.integers(0, 2**63 - 1))(attempt))()


def check_stable(kind: str, old: str, new: str) -> bool:
    """Whether the new schema reads the old; asked in every way that must give the same verdict."""
    first, second = parse(kind, old), parse(kind, new)
    verdicts = {level: check(level, second, [(1, first)]) for level in Level}
    assert not check(Level.FULL, first, [(1, first)]), "a schema reads itself"
    assert bool(verdicts[Level.FULL]) == bool(verdicts[Level.BACKWARD] or verdicts[Level.FORWARD])
    mirrored = check(Level.FORWARD, first, [(1, second)])
    assert bool(mirrored) == bool(verdicts[Level.BACKWARD])
    for form in ("canonical", "normalised"):
        again = check(
            Level.FULL, parse(kind, getattr(second, form)), [(1, parse(kind, getattr(first, form)))]
        )
        assert kinds(again) == kinds(verdicts[Level.FULL])
    return not verdicts[Level.BACKWARD]


def kinds(reasons: list[str]) -> list[str]:
    """The names of the reasons; their order is that of the text."""
    return sorted(reason.split("'")[1] for reason in reasons if "errorType" in reason)


@pytest.mark.timeout(900)
def test_avro_values_are_read_by_every_compatible_schema(long_form: bool) -> None:
    def attempt(seed: int) -> None:
        random = Random(seed)
        old, new = avro.pair(random)
        if check_stable("AVRO", json.dumps(old), json.dumps(new)):
            writer, reader = fastavro.parse_schema(old), fastavro.parse_schema(new)
            for _ in range(VALUES):
                data = io.BytesIO()
                fastavro.schemaless_writer(data, writer, avro.value(random, old))
                data.seek(0)
                fastavro.schemaless_reader(data, writer, reader)

    for_many(long_form, attempt)


@pytest.mark.timeout(900)
def test_json_values_are_valid_for_every_compatible_schema(long_form: bool) -> None:
    def attempt(seed: int) -> None:
        random = Random(seed)
        old, new = json_schema.pair(random)
        if check_stable("JSON", json.dumps(old), json.dumps(new)):
            writer, reader = jsonschema_rs.validator_for(old), jsonschema_rs.validator_for(new)
            for _ in range(10 * VALUES):
                value = json_schema.value(random, old)
                if writer.is_valid(value):
                    assert reader.is_valid(json_schema.completed(value, new)), (old, new, value)

    for_many(long_form, attempt)


@pytest.mark.timeout(900)
def test_protobuf_values_are_read_by_every_compatible_schema(long_form: bool) -> None:
    def attempt(seed: int) -> None:
        random = Random(seed)
        old, new = protobuf.pair(random)
        if check_stable("PROTOBUF", old.text, new.text):
            writer, reader = protobuf.message_class(old.text), protobuf.message_class(new.text)
            for _ in range(VALUES):
                written = protobuf.filled(random, writer())
                read = reader.FromString(written.SerializePartialToString())
                assert read.IsInitialized() or not written.IsInitialized(), (old.text, new.text, written)
                protobuf.check_kept(written, read)

    for_many(long_form, attempt)
