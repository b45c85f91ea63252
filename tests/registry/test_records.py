"""Records as Confluent's registry writes them, byte for byte."""

from __future__ import annotations

import msgspec
import pytest

from penstock.registry.records import (
    ConfigValue,
    ContextValue,
    DeleteSubjectValue,
    Key,
    ModeValue,
    Record,
    ReferenceValue,
    SchemaValue,
    decode,
    encode,
)

AVRO = SchemaValue("s", 1, 7, '"int"')
JSON = SchemaValue("s", 2, 8, "{}", "JSON", (ReferenceValue("n", "t", 3),), deleted=True)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (Record(Key("SCHEMA", "s", 1), AVRO), b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
         b'{"subject":"s","version":1,"id":7,"schema":"\\"int\\"","deleted":false}'),
        (Record(Key("SCHEMA", "s", 2), JSON), b'{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}',
         b'{"subject":"s","version":2,"id":8,"schema":"{}","schemaType":"JSON","references":'
         b'[{"name":"n","subject":"t","version":3}],"deleted":true}'),
        (Record(Key("SCHEMA", "s", 2), None),
         b'{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}', None),
        (Record(Key("CONFIG"), ConfigValue("FULL")), b'{"keytype":"CONFIG","subject":null,"magic":0}',
         b'{"compatibilityLevel":"FULL"}'),
        (Record(Key("MODE", "s"), ModeValue("IMPORT")), b'{"keytype":"MODE","subject":"s","magic":0}',
         b'{"mode":"IMPORT"}'),
        (Record(Key("DELETE_SUBJECT", "s"), DeleteSubjectValue("s", 4)),
         b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}', b'{"subject":"s","version":4}'),
        (Record(Key("CONTEXT", context=".x"), ContextValue("default", ".x")),
         b'{"keytype":"CONTEXT","tenant":"default","context":".x","magic":0}',
         b'{"tenant":"default","context":".x"}'),
        (Record(Key("NOOP"), None), b'{"keytype":"NOOP","magic":0}', None),
    ],
)  # fmt: skip
def test_a_record_is_written_as_confluents_and_comes_back(
    record: Record, key: bytes, value: bytes | None
) -> None:
    assert encode(record) == (key, value)
    assert decode(key, value) == record


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"x", b"{}"),
        (b'{"keytype":"DEK"}', b"{}"),
        (b'{"keytype":"SCHEMA"}', b"{}"),
        (b"\xff", None),
    ],
)
def test_what_is_no_record_of_a_registry_is_passed_over(key: bytes | None, value: bytes) -> None:
    assert decode(key, value) is None


def test_fields_of_later_versions_are_no_obstacle() -> None:
    value = b'{"subject":"s","version":1,"id":7,"md5":"x","schema":"\\"int\\"","ts":5,"deleted":false}'
    record = decode(b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', value)
    assert record == Record(Key("SCHEMA", "s", 1), msgspec.structs.replace(AVRO, ts=5))


def test_a_schema_has_the_time_of_its_record_and_it_is_not_written() -> None:
    key, value = encode(Record(Key("SCHEMA", "s", 1), AVRO))
    found = decode(key, value, 1_700_000_000_000)
    assert found is not None
    assert isinstance(found.value, SchemaValue)
    assert found.value.ts == 1_700_000_000_000
    assert encode(found) == (key, value)
