"""Changes of PostgreSQL straight to JSON: byte for byte what the converters make of the same change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connect.api.source import JsonForms
from penstock.connect.config.validation import Defaults
from penstock.connect.connectors.postgresql.encoding import Encoded, JsonRows
from penstock.connect.connectors.postgresql.envelope import Moment, Origin, Table
from penstock.connect.connectors.postgresql.pgoutput import UNCHANGED, Change, Relation, RelationColumn
from penstock.connect.connectors.postgresql.values import Handling
from penstock.connect.pipeline.conversion import Conversion
from penstock.connect.pipeline.tolerance import Tolerance

JSON = "org.apache.kafka.connect.json.JsonConverter"
DEFAULTS = Defaults(JSON, JSON, "org.apache.kafka.connect.storage.SimpleHeaderConverter")
MOMENT = Moment(1_700_000_000_000_001, 1_700_000_000_500, 77, 123_456)
_NUMERIC = 10 << 16 | 2
TYPES: dict[str, tuple[int, int, st.SearchStrategy[str]]] = {
    "id": (20, -1, st.integers(-(2**63), 2**63 - 1).map(str)),
    "small": (21, -1, st.integers(-(2**15), 2**15 - 1).map(str)),
    "flag": (16, -1, st.sampled_from("tf")),
    'odd "name"': (25, -1, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))),
    "price": (1700, _NUMERIC + 4, st.decimals(-(10**8), 10**8, places=2).map(lambda each: f"{each:f}")),
    "free": (1700, -1, st.decimals(-(10**12), 10**12, places=5).map(lambda each: f"{each:f}")),
    "real": (701, -1, st.floats(allow_nan=False, allow_infinity=False).map(repr)),
    "day": (1082, -1, st.dates().map(str)),
    "at": (1114, -1, st.datetimes().map(lambda each: str(each).ljust(19))),
    "zoned": (1184, -1, st.datetimes().map(lambda each: f"{each}+00")),
    "bytes": (17, -1, st.binary().map(lambda each: "\\x" + each.hex())),
    "many": (1007, -1, st.lists(st.integers(0, 9)).map(lambda each: "{" + ",".join(map(str, each)) + "}")),
    "document": (3802, -1, st.dictionaries(st.text("ab"), st.integers()).map(json.dumps)),
}
COLUMNS = tuple(RelationColumn(name, name == "id", oid, size) for name, (oid, size, _) in TYPES.items())
ROWS = st.tuples(*(st.none() | each.map(str.encode) if name != "id" else each.map(str.encode)
                   for name, (_, _, each) in TYPES.items())).map(list)  # fmt: skip
SETTINGS: list[dict[str, str]] = [
    {},
    {"value.converter.schemas.enable": "false", "key.converter.schemas.enable": "false"},
    {"value.converter.decimal.format": "NUMERIC"},
    {"value.converter.replace.null.with.default": "false"},
]


def table(key: tuple[str, ...] = ("id",), required: tuple[str, ...] = ("id",)) -> Table:
    handling = Handling("precise", "adaptive", "__debezium_unavailable_value")
    origin = Origin("pg", "db", handling, True)
    return Table(origin, Relation(5, "public", "odd.table", "d", COLUMNS), set(required), key)


def both(made: Table, change: Change, settings: dict[str, str]) -> tuple[Any, Any]:
    """Through the converters, and straight."""
    conversion = Conversion(
        {"key.converter": JSON, "value.converter": JSON, **settings}, DEFAULTS, Tolerance.of({})
    )
    rows = [conversion.outward(each) for each in made.changed(change, MOMENT)]
    forms = conversion.json_forms
    assert forms is not None
    assert not any(each and each.headers for each in rows)
    return [Encoded(each.key, each.value) for each in rows if each], JsonRows(made, forms).changed(
        change, MOMENT
    )


@given(ROWS, st.sampled_from("IU"), st.sampled_from(SETTINGS), st.booleans())
def test_a_row_is_written_as_the_converters_write_it(
    cells: Any, kind: str, settings: dict[str, str], keyed: bool
) -> None:
    made = table(("id",) if keyed else ())
    slow, quick = both(made, Change(kind, 5, "", None, cells), settings)
    assert quick == slow


@given(ROWS, ROWS, st.sampled_from(SETTINGS))
def test_old_rows_deletions_and_values_that_were_not_sent_are_written_alike(
    before: Any, after: Any, settings: dict[str, str]
) -> None:
    after[0] = before[0]
    for change in (
        Change("U", 5, "O", before, after),
        Change("D", 5, "K", [before[0], *(None for _ in before[1:])], None),
        Change("D", 5, "O", before, None),
        Change("U", 5, "", None, [*after[:3], UNCHANGED, *after[4:]]),
    ):
        slow, quick = both(table(), change, settings)
        assert quick == slow


@given(ROWS)
def test_a_row_of_a_snapshot_is_written_alike(cells: Any) -> None:
    texts = [None if each is None else each.decode() for each in cells]
    made = table()
    conversion = Conversion({"key.converter": JSON, "value.converter": JSON}, DEFAULTS, Tolerance.of({}))
    row, forms = conversion.outward(made.read(texts, MOMENT)), conversion.json_forms
    assert row is not None
    assert forms is not None
    assert JsonRows(made, forms).read(texts, MOMENT) == [Encoded(row.key, row.value)]


def test_a_change_of_the_key_has_headers_and_goes_the_longer_way() -> None:
    forms = _forms()
    old = [b"1", *(None for _ in COLUMNS[1:])]
    new = [b"2", *(None for _ in COLUMNS[1:])]
    assert JsonRows(table(), forms).changed(Change("U", 5, "K", old, new), MOMENT) is None


def test_a_null_where_none_may_be_is_not_written_quickly() -> None:
    """The converters refuse it, and say so."""
    row = [b"1", *(None for _ in COLUMNS[1:])]
    with pytest.raises(Exception, match="null value for field that is required"):
        JsonRows(table(required=("id", "small")), _forms()).changed(Change("I", 5, "", None, row), MOMENT)


@pytest.mark.parametrize("other", [{"transforms": "t", "transforms.t.type": "HoistField$Value",
    "transforms.t.field": "f"}, {"value.converter": "StringConverter"}])  # fmt: skip
def test_other_converters_and_transforms_are_not_passed_by(other: dict[str, str]) -> None:
    given = {"key.converter": JSON, "value.converter": JSON, **other}
    assert Conversion(given, DEFAULTS, Tolerance.of({})).json_forms is None


def _forms() -> JsonForms:
    conversion = Conversion({"key.converter": JSON, "value.converter": JSON}, DEFAULTS, Tolerance.of({}))
    assert conversion.json_forms is not None
    return conversion.json_forms
