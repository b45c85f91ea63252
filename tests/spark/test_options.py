"""Options are read as Spark's own Kafka source reads them, and wrong ones are refused with a sentence."""

from __future__ import annotations

import pytest

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.spark.options import OptionError, read_options, write_options
from penstock.spark.positions import PositionError, beginning, from_offsets, from_time, now

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}


def test_a_stream_starts_at_the_end_and_a_batch_at_the_beginning_unless_told_otherwise() -> None:
    options = {**SERVERS, "subscribe": "a, b,a"}
    assert read_options(options, streaming=True).starting == now()
    batch = read_options(options, streaming=False)
    assert (batch.starting, batch.ending) == (beginning(), now())
    assert batch.subscribe == ("a", "b")
    assert batch.fail_on_data_loss


def test_names_do_not_care_for_case() -> None:
    options = read_options(
        {**SERVERS, "SUBSCRIBEPATTERN": "a.*", "maxOffsetsPerTrigger": "7", "includeHeaders": "TRUE"},
        streaming=True,
    )
    assert (options.pattern, options.max_offsets_per_trigger, options.include_headers) == ("a.*", 7, True)


def test_offsets_are_written_as_json_with_minus_two_and_minus_one_for_the_ends() -> None:
    given = {**SERVERS, "assign": '{"a":[0,1]}', "startingOffsets": '{"a":{"0":23,"1":-2}}'}
    options = read_options(given, streaming=True)
    first, second = TopicPartition("a", 0), TopicPartition("a", 1)
    assert options.assign == (first, second)
    assert options.starting == from_offsets({first: 23, second: -2})


def test_a_time_wins_over_offsets() -> None:
    given = {**SERVERS, "subscribe": "a", "startingOffsets": "earliest", "startingTimestamp": "1000"}
    assert read_options(given, streaming=True).starting == from_time(1000, end_if_none=False)


def test_a_client_setting_of_another_client_is_let_through() -> None:
    tuned = {"kafka.max.poll.records": "5", "fetchOffset.numRetries": "3", "groupIdPrefix": "spark"}
    read_options({**SERVERS, "subscribe": "a", **tuned}, streaming=True)


def test_a_time_is_written_as_spark_writes_it() -> None:
    for text, seconds in (("15m", 900.0), ("2 h", 7200.0), ("500ms", 0.5), ("1500", 1.5)):
        options = read_options({**SERVERS, "subscribe": "a", "maxTriggerDelay": text}, streaming=True)
        assert options.max_trigger_delay_seconds == seconds


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "a"}, "kafka.bootstrap.servers"),
        ({**SERVERS}, "exactly one of subscribe"),
        ({**SERVERS, "subscribe": "a", "assign": "{}"}, "exactly one of subscribe"),
        ({**SERVERS, "subscribe": " , "}, "names no topic"),
        ({**SERVERS, "assign": "a"}, "assign is written as"),
        ({**SERVERS, "assign": '{"a":["x"]}'}, "assign is written as"),
        ({**SERVERS, "assign": '{"a":[]}'}, "assign is written as"),
        ({**SERVERS, "assign": '{"a":"01"}'}, "assign is written as"),
        ({**SERVERS, "assign": '{"a":[0.5]}'}, "assign is written as"),
        ({**SERVERS, "assign": '{"a":[-1]}'}, "assign is written as"),
        ({**SERVERS, "subscribePattern": "("}, "not a regular expression"),
        ({**SERVERS, "subscribePattern": ""}, "not nothing"),
        (
            {**SERVERS, "subscribe": "a", "startingOffsets": '{"a":{"0":1.5}}'},
            "startingOffsets is written as",
        ),
        ({**SERVERS, "subscribe": "a", "startingOffsets": "first"}, "startingOffsets is written as"),
        ({**SERVERS, "subscribe": "a", "endingOffsets": "latest"}, "a stream has no end"),
        ({**SERVERS, "subscribe": "a", "maxOffsetsPerTrigger": "0"}, "more than zero"),
        ({**SERVERS, "subscribe": "a", "failOnDataLoss": "maybe"}, "true or false"),
        ({**SERVERS, "subscribe": "a", "maxPartitions": "4"}, "is 'minPartitions' meant"),
        ({"bootstrap.servers": "h:1", "subscribe": "a"}, "is 'kafka.bootstrap.servers' meant"),
        (
            {**SERVERS, "subscribe": "a", "speed": "4"},
            r"means nothing for reading with format\('penstock'\)$",
        ),
        ({**SERVERS, "subscribe": "a", "kafka.auto.offset.reset": "latest"}, "startingOffsets says where"),
        ({**SERVERS, "subscribe": "a", "kafka.value.deserializer": "x"}, "valueFormat"),
        ({**SERVERS, "subscribe": "a", "minPartitions": "none"}, "minPartitions is a whole number"),
        ({**SERVERS, "subscribe": "a", "maxTriggerDelay": "soon"}, "a time as 15m"),
        ({**SERVERS, "subscribe": "a", "groupIdForOffsets": " "}, "the id of a consumer group"),
        (
            {**SERVERS, "subscribe": "a", "minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
            "is more than maxOffsetsPerTrigger",
        ),
        ({**SERVERS, "subscribe": "a", "kafka.isolation.level": "none"}, "read_committed"),
        ({**SERVERS, "subscribe": "a", "kafka.security.protocol": "TLS"}, "kafka.security.protocol is 'TLS'"),
        ({**SERVERS, "subscribe": "a", "kafka.security.protocol": "SASL_SSL"}, "sasl.mechanism is 'GSSAPI'"),
        ({**SERVERS, "subscribe": "a", "kafka.ssl.provider": "x"}, "ssl.provider cannot be honoured"),
        ({**SERVERS, "subscribe": "a", "startingTimestamp": "-1"}, "startingTimestamp is milliseconds"),
        ({**SERVERS, "subscribe": "a", "startingOffsetsByTimestamp": '{"a":{"0":-1}}'}, "not negative"),
    ],
)
def test_what_cannot_be_honoured_is_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        read_options(options, streaming=True)


def test_a_batch_that_would_read_nothing_is_refused() -> None:
    with pytest.raises(OptionError, match="nothing would be read"):
        read_options({**SERVERS, "subscribe": "a", "startingOffsets": "latest"}, streaming=False)
    with pytest.raises(OptionError, match="nothing would be read"):
        read_options({**SERVERS, "subscribe": "a", "endingOffsets": "earliest"}, streaming=False)
    for start, end, where in (
        (("startingTimestamp", "2000"), ("endingTimestamp", "1000"), "every partition"),
        (("startingOffsets", '{"a":{"0":5}}'), ("endingOffsets", '{"a":{"0":4}}'), "a-0"),
    ):
        with pytest.raises(OptionError, match=f"begin after its end in {where}"):
            read_options({**SERVERS, "subscribe": "a", **dict([start, end])}, streaming=False)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (("startingTimestamp", "1000"), ("endingTimestamp", "1000")),
        (("startingTimestamp", "0"), ("endingOffsets", "latest")),
        (("startingOffsets", '{"a":{"0":5}}'), ("endingOffsets", '{"a":{"0":-1}}')),
        (("startingOffsets", '{"a":{"0":5}}'), ("endingTimestamp", "1")),
    ],
)
def test_what_may_have_something_between_is_read(start: tuple[str, str], end: tuple[str, str]) -> None:
    read_options({**SERVERS, "subscribe": "a", **dict([start, end])}, streaming=False)


def test_an_offset_below_minus_two_is_none() -> None:
    with pytest.raises(PositionError, match="-3 is no offset for a-0"):
        from_offsets({TopicPartition("a", 0): -3})


def test_the_sinks_options() -> None:
    given = {**SERVERS, "topic": "t", "kafka.compression.type": "zstd", "kafka.delivery.timeout.ms": "5000"}
    options = write_options(given)
    assert (options.topic, options.codec, options.delivery_seconds) == ("t", Codec.ZSTD, 5.0)


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("kafka.compression.type", "brotli", "gzip"),
        ("kafka.acks", "1", "always all"),
        ("kafka.security.protocol", "TLS", "kafka.security.protocol is 'TLS'"),
        ("startingOffsets", "earliest", "means nothing for writing"),
    ],
)
def test_what_the_sink_cannot_honour_is_refused(option: str, value: str, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        write_options({**SERVERS, option: value})
