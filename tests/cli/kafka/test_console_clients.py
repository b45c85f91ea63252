"""`kafka-console-producer` and `kafka-console-consumer`: records that ours writes are read by both."""

from __future__ import annotations

import struct

import pytest
from confluent_kafka import Producer

from penstock.cli.kafka.console_consumer import console_consumer
from penstock.cli.kafka.console_producer import console_producer
from penstock.cli.kafka.topics import topics
from tests.cli.kafka.side_by_side import SideBySide

KAFKAS_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
KAFKAS_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
TO = "--bootstrap-server SERVERS"


def make(side: SideBySide, name: str) -> None:
    assert side.ours(topics, *TO.split(), "--create", "--topic", name).code == 0


def test_lines_become_records_that_both_consumers_print_alike(side: SideBySide) -> None:
    make(side, "lines")
    produced = side.ours(
        console_producer, *f"{TO} --topic lines".split(), stdin="one\ntwo\n\nzwölf\n".encode()
    )
    assert (produced.code, produced.out) == (0, "")
    keyed = "--reader-property parse.key=true --reader-property key.separator=:"
    said = side.ours(console_producer, *f"{TO} --topic lines {keyed}".split(), stdin=b"k1:v1\nk2:v:2\n")
    assert said.code == 0, said
    headed = "--property parse.headers=true --property parse.key=true --property null.marker=NULL"
    lines = b"h1:a,h2:b\tk3\tv3\nh:NULL\tNULL\tNULL\n"
    said = side.ours(
        console_producer, *f"--broker-list SERVERS --topic lines {headed} --sync".split(), stdin=lines
    )
    assert said.code == 0, said
    columns = ("key", "headers", "partition", "offset", "timestamp", "epoch")
    everything = " ".join(f"--formatter-property print.{column}=true" for column in columns)
    for line in (
        "--from-beginning --max-messages 8",
        "--from-beginning --max-messages 3",
        f"--from-beginning --max-messages 8 {everything}",
        f"--partition 0 --offset 4 --max-messages 2 {everything}",
        "--partition 0 --offset earliest --max-messages 1",
        "--from-beginning --max-messages 8 --property print.key=true --property key.separator=-",
        "--from-beginning --max-messages 8 --formatter-property null.literal=nil "
        "--formatter-property print.value=false --formatter-property print.key=true",
        "--from-beginning --max-messages 8 --key-deserializer "
        "org.apache.kafka.common.serialization.StringDeserializer --formatter-property print.key=true",
        "--from-beginning --max-messages 2 --formatter org.apache.kafka.tools.consumer.NoOpMessageFormatter",
        "--from-beginning --max-messages 2 --isolation-level read_committed",
    ):
        ours, kafkas = side.both(console_consumer, KAFKAS_CONSUMER, f"{TO} --topic lines {line}")
        assert (ours.code, ours.out) == (kafkas.code, kafkas.out), line
        assert ours.err.splitlines()[-1] == kafkas.err.splitlines()[-1], line


def test_a_number_is_printed_by_its_deserializer(side: SideBySide) -> None:
    make(side, "numbers")
    producer = Producer({"bootstrap.servers": side.servers})
    for number in (1, -5, 2**40):
        producer.produce("numbers", struct.pack(">q", number), key=struct.pack(">i", 7))
    assert producer.flush(10) == 0
    serialization = "org.apache.kafka.common.serialization"
    line = (
        f"{TO} --topic numbers --from-beginning --max-messages 3 --formatter-property print.key=true "
        f"--value-deserializer {serialization}.LongDeserializer "
        f"--formatter-property key.deserializer={serialization}.IntegerDeserializer"
    )
    ours, kafkas = side.both(console_consumer, KAFKAS_CONSUMER, line)
    assert ours.out == kafkas.out == f"7\t1\n7\t-5\n7\t{2**40}\n"


def test_a_group_goes_on_where_it_stopped(side: SideBySide) -> None:
    make(side, "continued")
    side.ours(console_producer, *f"{TO} --topic continued".split(), stdin=b"1\n2\n3\n")
    line = f"{TO} --topic continued --group goes-on --from-beginning --max-messages"
    assert side.ours(console_consumer, *line.split(), "1").out == "1\n"
    assert side.kafkas(KAFKAS_CONSUMER, *line.split(), "1").out == "2\n"
    assert side.ours(console_consumer, *line.split(), "1").out == "3\n"


def test_a_topic_is_found_by_the_old_name_of_an_option(side: SideBySide) -> None:
    make(side, "old-name")
    side.ours(console_producer, *f"{TO} --topic old-name".split(), stdin=b"here\n")
    said = side.ours(console_consumer, *f"{TO} --whitelist old-n.* --from-beginning --max-messages 1".split())
    assert (said.code, said.out) == (0, "here\n")


def test_a_consumer_without_records_ends_after_its_timeout(side: SideBySide) -> None:
    make(side, "silent")
    line = f"{TO} --topic silent --from-beginning --timeout-ms 500"
    ours, kafkas = side.both(console_consumer, KAFKAS_CONSUMER, line)
    assert (ours.code, ours.out) == (kafkas.code, kafkas.out)
    assert ours.err.splitlines()[-1] == kafkas.err.splitlines()[-1] == "Processed a total of 0 messages"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--topic a",
        TO,
        f"{TO} --topic a --include b",
        f"{TO} --include b --partition 1",
        f"{TO} --topic a --offset 1",
        f"{TO} --topic a --partition 0 --offset -7",
        f"{TO} --topic a --partition 0 --offset soon",
        f"{TO} --topic a --partition 0 --offset 1 --from-beginning",
        f"{TO} --topic a --partition 0 --group b",
        f"{TO} --topic a --group b --command-property group.id=c",
        f"{TO} --topic a --from-beginning --command-property auto.offset.reset=latest",
        f"{TO} --topic a --formatter no.such.Class",
        f"{TO} --topic a --nothing",
        f"{TO} --topic a --property a=b --formatter-property c=d",
    ],
)
def test_a_mistake_of_a_consumer_is_answered_as_kafka_answers_it(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(console_consumer, KAFKAS_CONSUMER, line)
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--help",
        "--topic a",
        TO,
        "--bootstrap-server nowhere --topic a",
        f"{TO} --topic a --nothing",
        f"{TO} --topic a --property a=b --reader-property c=d",
        f"{TO} --topic a --producer-property a=b --command-property c=d",
    ],
)
def test_a_mistake_of_a_producer_is_answered_as_kafka_answers_it(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(console_producer, KAFKAS_PRODUCER, line)
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)


def test_zookeeper_is_warned_of_and_the_broker_asked_instead(
    side: SideBySide, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(side, "of-old")
    side.ours(console_producer, *f"{TO} --topic of-old".split(), stdin=b"here\n")
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP_SERVERS", side.servers)
    line = "--zookeeper localhost:2181 --topic of-old --from-beginning --max-messages 1"
    said = side.ours(console_consumer, *line.split())
    assert (said.code, said.out) == (0, "here\n")
    assert f"--bootstrap-server {side.servers}" in said.complaint


def test_a_line_without_a_separator_ends_the_producer(side: SideBySide) -> None:
    make(side, "broken-lines")
    words = f"{TO} --topic broken-lines --reader-property parse.key=true".split()
    said = side.ours(console_producer, *words, stdin=b"a\tb\nno separator\n")
    assert (said.code, said.complaint) == (1, "No key separator found on line number 2: 'no separator'")
