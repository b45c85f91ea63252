"""Texts of settings become values and texts again, with Kafka's sentences for what is not allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.settings import SettingError, kinds


@pytest.mark.parametrize("text", ["", "x", "1.5", "1_000", "٣", "0x10", "2147483648", "1" * 5000])
def test_what_is_no_32_bit_number_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="Not a number of type INT"):
        kinds.int_().parse("some.setting", text)


def test_a_number_out_of_bounds_is_refused_with_the_bound() -> None:
    kind = kinds.int_(5, 10)
    with pytest.raises(SettingError, match="Value must be at least 5") as low:
        kind.parse("some.setting", "4")
    with pytest.raises(SettingError, match="Value must be no more than 10"):
        kind.parse("some.setting", "11")
    assert low.value.setting == "some.setting"
    assert low.value.value == "4"
    assert low.value.allowed == "a whole number from 5 to 10"


def test_one_value_outside_the_bounds_can_be_allowed() -> None:
    kind = kinds.int_(1, 9, also=-1)
    assert kind.parse("level", "-1") == -1
    with pytest.raises(SettingError):
        kind.parse("level", "0")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("FALSE", False), ("True", True)])
def test_booleans_are_read_in_any_case(text: str, value: bool) -> None:
    assert kinds.BOOLEAN.parse("flag", text) is value


@pytest.mark.parametrize("text", ["yes", "1", "", "on"])
def test_other_words_are_no_booleans(text: str) -> None:
    with pytest.raises(SettingError, match="Expected value to be either true or false"):
        kinds.BOOLEAN.parse("flag", text)


def test_a_word_outside_the_list_is_refused_with_the_list() -> None:
    with pytest.raises(SettingError, match="String must be one of: a, b"):
        kinds.one_of("a", "b").parse("word", "c")
    with pytest.raises(
        SettingError, match="Invalid value c for configuration words: String must be one of: a, b"
    ):
        kinds.words("a", "b").parse("words", "a, c")


def test_words_keep_their_order_and_count_once() -> None:
    kind = kinds.words("compact", "delete")
    assert kind.render(kind.parse("cleanup.policy", "delete ,compact,delete")) == "delete,compact"
    assert kind.parse("cleanup.policy", "") == ()
    with pytest.raises(SettingError, match=r"^Configuration 'cleanup.policy' values must not be empty.$"):
        kind.parse("cleanup.policy", "delete,")


def test_throttled_replicas_are_a_star_or_pairs() -> None:
    assert kinds.THROTTLED_REPLICAS.parse("x", "*") == ("*",)
    assert kinds.THROTTLED_REPLICAS.parse("x", "0:1,1:2") == ("0:1", "1:2")
    with pytest.raises(SettingError, match="literal"):
        kinds.THROTTLED_REPLICAS.parse("x", "0:1,*")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.5, "0.5"),
        (1.0, "1.0"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.25, "1.2345678925E8"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (0.0001, "1.0E-4"),
        (5e-324, "5.0E-324"),
    ],
)
def test_fractions_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert kinds.render_double(value) == text


@given(st.floats(min_value=0, allow_infinity=False, allow_nan=False))
def test_every_fraction_is_read_back_from_its_text(value: float) -> None:
    assert kinds.double(0).parse("ratio", kinds.render_double(value)) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long_is_read_back_from_its_text(value: int) -> None:
    kind = kinds.long()
    assert kind.parse("long", kind.render(value)) == value
