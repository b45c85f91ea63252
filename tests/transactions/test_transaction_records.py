"""The bytes of `__transaction_state`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.transactions.transaction import State, Transaction
from penstock.transactions.transaction_records import (
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)

ids = st.integers(-1, 2**63 - 1)
epochs = st.integers(-1, 2**15 - 1)
times = st.integers(-1, 2**62)
partitions = st.frozensets(st.tuples(st.text(max_size=5), st.integers(0, 2**31 - 1)), max_size=5)


@st.composite
def transactions(draw: st.DrawFn) -> Transaction:
    state = draw(st.sampled_from(State))
    return Transaction(
        draw(st.text(max_size=10)),
        draw(ids),
        draw(epochs),
        draw(st.integers(0, 2**31 - 1)),
        state,
        frozenset() if state is State.EMPTY else draw(partitions),
        draw(times),
        draw(times),
        draw(ids),
        draw(ids),
        draw(st.sampled_from([0, 2])),
    )


@given(transactions())
def test_what_is_written_is_read_back(transaction: Transaction) -> None:
    assert decode_value(transaction.transactional_id, encode_value(transaction)) == transaction
    assert decode_key(encode_key(transaction.transactional_id)) == transaction.transactional_id


def test_the_bytes_are_those_of_kafka() -> None:
    """TransactionLogKey v0 and TransactionLogValue v1, written out by hand from their schemas."""
    transaction = Transaction(
        "tx", 7, 3, 60_000, State.ONGOING, frozenset({("t", 1), ("t", 0)}), 1000, 2000, 6, -1, 2
    )
    assert encode_key("tx").hex(" ") == "00 00 00 02 74 78"
    assert encode_value(transaction).hex() == (
        "0001" "0000000000000007" "0003" "0000ea60" "01"
        "02" "02" "74" "03" "00000000" "00000001" "00"
        "00000000000007d0" "00000000000003e8"
        "02" "00" "08" "0000000000000006" "02" "02" "0002"
    )  # fmt: skip


def test_version_0_is_read_too() -> None:
    value = bytes.fromhex(
        "0000" "0000000000000007" "0003" "0000ea60" "02"
        "00000001" "0001" "74" "00000001" "00000005"
        "00000000000007d0" "00000000000003e8"
    )  # fmt: skip
    expected = Transaction("tx", 7, 3, 60_000, State.PREPARE_COMMIT, frozenset({("t", 5)}), 1000, 2000)
    assert decode_value("tx", value) == expected


def test_a_key_of_a_later_kind_is_skipped() -> None:
    assert decode_key(bytes.fromhex("0001 0002 7478")) is None
