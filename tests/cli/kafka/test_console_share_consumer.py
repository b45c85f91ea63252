"""`kafka-console-share-consumer`: members of a share group take records, each record one of them."""

from __future__ import annotations

import pytest

from penstock.cli.kafka.console_producer import console_producer
from penstock.cli.kafka.console_share_consumer import console_share_consumer
from penstock.cli.kafka.topics import topics
from tests.cli.kafka.side_by_side import SideBySide

KAFKAS = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
TO = "--bootstrap-server SERVERS"


@pytest.mark.timeout(180)
def test_records_are_taken_by_ours_and_the_rest_by_kafkas(side: SideBySide) -> None:
    assert side.ours(topics, *f"{TO} --create --topic shared".split()).code == 0
    group = "--group printers"
    primed = f"{TO} --topic shared {group} --timeout-ms 3000"
    assert side.ours(console_share_consumer, *primed.split()).code == 0  # the group begins at the end
    said = side.ours(console_producer, *f"{TO} --topic shared".split(), stdin=b"1\n2\n3\n4\n")
    assert said.code == 0, said
    ours = side.ours(console_share_consumer, *f"{TO} --topic shared {group} --max-messages 2".split())
    assert (ours.code, ours.out) == (0, "1\n2\n"), ours
    kafkas = side.kafkas(KAFKAS, *f"{TO} --topic shared {group} --max-messages 2".split())
    assert kafkas.out.split() == ["3", "4"], kafkas


@pytest.mark.parametrize(
    "line",
    ["", f"{TO}", "--topic a", f"{TO} --topic a --reject --release", f"{TO} --topic a --nothing"],
)
def test_a_mistake_ends_with_one_as_kafkas(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(console_share_consumer, KAFKAS, line)
    assert ours.code == kafkas.code == 1, (ours, kafkas)
