"""A function that fails is named with its node, its record and its line; and what the handlers make of it."""

from __future__ import annotations

import math

import pytest

from penstock.kernels.serdes import SerdeError
from penstock.plan.failures import (
    FailureLetters,
    OnFailure,
    ProcessingError,
    fail_processing,
    skip_processing,
)
from penstock.streams import (
    JsonSerde,
    LongSerde,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    StringSerde,
    Topology,
    TopologyTestDriver,
)

S = StringSerde()


def price(value: str) -> str:
    return str(100 // int(value))


def priced() -> Topology:
    builder = StreamsBuilder(key_serde=S, value_serde=S)
    orders = builder.stream("orders")
    orders.map_values(str.upper).map_values(price).to("prices")
    orders.to("copies")
    return builder.build()


def test_the_error_names_the_node_the_record_and_the_lines_of_the_user() -> None:
    with TopologyTestDriver(priced()) as driver:
        driver.pipe("orders", "k", "5", 1)
        with pytest.raises(ProcessingError) as caught:
            driver.pipe("orders", "k", "0", 2)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("node KSTREAM-MAPVALUES-0000000002 (test_failures.py:")
    assert "failed on the record at offset 1 of orders-0: ZeroDivisionError: " in message
    assert message.endswith(f"(test_failures.py:{price.__code__.co_firstlineno + 1} in price)")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("emit_every_update", [True, False])
def test_a_value_that_the_serde_cannot_write_names_the_line_of_the_sink(emit_every_update: bool) -> None:
    builder = StreamsBuilder(key_serde=S, value_serde=S)
    counted = builder.stream("words").group_by_key().count()
    counted.to_stream().to("counts", value_serde=S)  # forgot LongSerde
    with (
        TopologyTestDriver(builder.build(), emit_every_update=emit_every_update) as driver,
        pytest.raises(ProcessingError) as caught,
    ):
        driver.pipe("words", "k", "v", 1)
    assert "KSTREAM-SINK-" in str(caught.value)
    assert "test_failures.py:" in str(caught.value)
    assert "offset 0 of words-0: SerdeError: 1 cannot be written with StringSerde()" in str(caught.value)
    assert isinstance(caught.value.__cause__, SerdeError)


def test_a_record_that_fails_at_one_node_goes_on_at_the_others() -> None:
    with TopologyTestDriver(priced(), on_failure=skip_processing) as driver:
        for value in ("0", "4"):
            driver.pipe("orders", "k", value, 1)
        assert [record.value for record in driver.read("prices")] == ["25"]
        assert [record.value for record in driver.read("copies")] == ["0", "4"]


def test_a_dead_letter_is_the_record_as_it_was_read_with_the_reasons() -> None:
    with TopologyTestDriver(priced(), on_failure=FailureLetters("dead")) as driver:
        driver.pipe("orders", "k", "0", 7, (("trace", b"x"),))
        (letter,) = driver.read_raw("dead")
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"0", 7)
    headers = dict(letter.headers)
    assert headers["trace"] == b"x"
    assert headers["__streams.errors.exception"] == b"ZeroDivisionError"
    assert headers["__streams.errors.topic"] == b"orders"
    assert headers["__streams.errors.offset"] == b"0"
    assert b"in price" in (headers["__streams.errors.stacktrace"] or b"")


class Alarm(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        context.schedule(1_000, PunctuationType.WALL_CLOCK_TIME, self.ring)

    def process(self, record: Record) -> None:
        self.context.forward(record)

    def ring(self, now_ms: int) -> None:
        raise LookupError("no bell")


@pytest.mark.parametrize("handler", [fail_processing, skip_processing])
def test_a_punctuator_that_fails_names_its_node(handler: OnFailure) -> None:
    builder = StreamsBuilder(key_serde=S, value_serde=S)
    builder.stream("a").process(Alarm, name="alarm").to("out")
    with TopologyTestDriver(builder.build(), on_failure=handler) as driver:
        if handler is skip_processing:
            driver.advance_wall_clock(1_000)
            return
        with pytest.raises(
            ProcessingError, match=r"node alarm .* failed in a punctuator: LookupError: no bell"
        ):
            driver.advance_wall_clock(1_000)


def test_an_extractor_that_fails_names_the_source() -> None:
    builder = StreamsBuilder(key_serde=S, value_serde=LongSerde())
    builder.stream("a", timestamp_extractor=lambda record, _: record.value // 0).to("out")
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(ProcessingError, match=r"node KSTREAM-SOURCE-0000000000 .* offset 0 of a-0"),
    ):
        driver.pipe("a", "k", 1, 1)


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        JsonSerde().serialize("t", {"price": math.nan})
    with pytest.raises(ValueError, match="NaN is not JSON"):
        JsonSerde().deserialize("t", b'{"price":NaN}')
    assert JsonSerde().deserialize("t", JsonSerde().serialize("t", {"price": 1.5})) == {"price": 1.5}
