"""Grouped streams in windows: a kind of windows that is not ours, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from penstock.kernels.operation import Operation
from penstock.kernels.serdes import Serde, TimeWindowedSerde
from penstock.kernels.store_specs import StoreSpec, WindowSpec
from penstock.kernels.windowed import WindowAggregate
from penstock.kernels.windows import Aggregation, StoreSettings
from penstock.streams import (
    EmitStrategy,
    LongSerde,
    Materialized,
    StreamsBuilder,
    StringSerde,
    TimeWindows,
    TopologyError,
    TopologyTestDriver,
    UnlimitedWindows,
)

S = StringSerde()


@dataclass(frozen=True)
class ShiftedWindows:
    """Windows of ten milliseconds that begin three after the full ten, with the methods of `GroupWindows`."""

    merge: ClassVar[bool] = False
    close: ClassVar[bool] = True
    count_takes_two_numbers: ClassVar[bool] = True
    size_ms: ClassVar[int] = 10
    grace_ms: ClassVar[int] = 0
    retention_ms: ClassVar[int] = 10

    def starts(self, timestamp: int) -> Sequence[int]:
        return ((timestamp - 3) // 10 * 10 + 3,)

    def operation(self, aggregation: Aggregation) -> Operation:
        given: dict[str, Any] = aggregation._asdict()
        del given["merger"]
        return WindowAggregate(**given, windows=self)  # type: ignore[arg-type]

    def store_spec(self, settings: StoreSettings) -> StoreSpec:
        return WindowSpec(**settings._asdict(), size_ms=self.size_ms)

    def key_serde(self, key: Serde[Any]) -> Serde[Any]:
        return TimeWindowedSerde(key, self.size_ms)


def test_a_new_kind_of_windows_needs_no_change_elsewhere() -> None:
    builder = StreamsBuilder(key_serde=S, value_serde=S)
    counts = builder.stream("a").group_by_key().windowed_by(ShiftedWindows()).count()  # type: ignore[call-overload]
    counts.to_stream(lambda key, _: f"{key.key}@{key.start}").to("out", value_serde=LongSerde())
    with TopologyTestDriver(builder.build()) as driver:
        for at in (4, 12, 13):
            driver.pipe("a", "k", "v", at)
        found = [(record.key, record.value) for record in driver.read("out")]
    assert found == [("k@3", 1), ("k@3", 2), ("k@13", 1)]


def test_windows_that_never_close_have_no_final_result() -> None:
    grouped = StreamsBuilder(key_serde=S, value_serde=S).stream("a").group_by_key()
    with pytest.raises(TopologyError, match="UnlimitedWindows never close"):
        grouped.windowed_by(UnlimitedWindows()).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)


def test_a_store_that_forgets_a_window_before_its_grace_has_passed_is_refused_with_the_line() -> None:
    grouped = StreamsBuilder(key_serde=S, value_serde=S).stream("a").group_by_key()
    windows = grouped.windowed_by(TimeWindows(10_000, grace=5_000))
    with pytest.raises(TopologyError, match=r"retention is 12000 ms.*15000 ms.*test_windowed\.py:\d+"):
        windows.count(materialized=Materialized("counts", retention=12_000))
