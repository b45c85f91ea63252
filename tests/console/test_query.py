"""Words of an address or a form become a query, or a refusal that names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.errors import InvalidValue
from penstock.client.paging import After, Before, FromOffset, FromTimestamp, Newest, Oldest
from penstock.console.moments import parse_timestamp
from penstock.console.query import format_cursor, parse_cursor, parse_query


def test_nothing_asked_means_the_newest_of_all_partitions() -> None:
    query = parse_query("t", {})
    assert (query.start, query.partition, query.limit) == (Newest(), None, 50)


@pytest.mark.parametrize(
    ("params", "start"),
    [
        ({"from": "newest"}, Newest()),
        ({"from": "oldest"}, Oldest()),
        ({"from": "offset", "offset": "7"}, FromOffset(7)),
        ({"from": "timestamp", "timestamp": "5"}, FromTimestamp(5)),
        ({"from": "oldest", "cursor": "before:0=3,2=9"}, Before({0: 3, 2: 9})),
    ],
)
def test_each_start_has_its_words(params: dict[str, str], start: object) -> None:
    assert parse_query("t", params).start == start


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"from": "middle"}, "'middle'. Use one of newest, oldest"),
        ({"from": "offset"}, "'' is not a valid offset"),
        ({"from": "offset", "offset": "-1"}, "'-1' is not a valid offset"),
        ({"partition": "x"}, "'x' is not a valid partition"),
        ({"limit": "0"}, "1 to 1000"),
        ({"limit": "1001"}, "1 to 1000"),
        ({"limit": "9" * 5000}, "1 to 1000"),
        ({"cursor": "before:"}, "is not a cursor"),
        ({"cursor": "after:0=1;1=2"}, "is not a cursor"),
    ],
)
def test_a_refusal_names_the_value(params: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        parse_query("t", params)


@pytest.mark.parametrize(
    "text", ["1700000000000", "2023-11-14 22:13:20", "2023-11-14T22:13:20Z", "2023-11-15T00:13:20+02:00"]
)
def test_a_timestamp_is_utc_unless_it_says_otherwise(text: str) -> None:
    assert parse_timestamp(text) == 1_700_000_000_000


@given(
    st.dictionaries(st.integers(0, 10**8), st.integers(0, 2**63 - 1), min_size=1, max_size=5), st.booleans()
)
def test_a_cursor_survives_the_address(offsets: dict[int, int], backward: bool) -> None:
    cursor = Before(offsets) if backward else After(offsets)
    assert parse_cursor(format_cursor(cursor) or "") == cursor
