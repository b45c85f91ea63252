"""Plain values come back as they were, and equal ones have equal bytes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from penstock.kernels.record import Windowed
from penstock.plan.plain_serde import PlainSerde


@pytest.mark.parametrize(
    "value",
    [
        1,
        2**62,
        -1.5,
        True,
        "text",
        b"\x00\xff",
        Decimal("1.10"),
        [1, None, [b"x"]],
        {"A": {"o": 1}, "B": None},
        {1: "one", 2: None},
        {},
        Windowed({"A": 1, "B": "x"}, 5, 10),
    ],
)
def test_a_value_comes_back(value: Any) -> None:
    serde = PlainSerde()
    found = serde.deserialize("t", serde.serialize("t", value))
    assert found == value
    assert type(found) is type(value)
    assert str(found) == str(value)


def test_what_is_no_plain_value_is_refused() -> None:
    with pytest.raises(TypeError, match="no plain value"):
        PlainSerde().serialize("t", object())
