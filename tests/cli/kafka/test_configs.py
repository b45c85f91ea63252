"""`kafka-configs` beside Kafka's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.kafka.configs import configs
from penstock.cli.kafka.topics import topics
from tests.cli.kafka.side_by_side import SideBySide

KAFKAS = "kafka.admin.ConfigCommand"
TO = "--bootstrap-server SERVERS"


def test_settings_of_topics_are_altered_and_described_as_kafka_does(side: SideBySide, tmp_path: Path) -> None:
    for name in ("set-by-ours", "set-by-kafkas"):
        assert side.ours(topics, *f"{TO} --create --topic {name}".split()).code == 0
    file = tmp_path / "topic.properties"
    file.write_text("segment.bytes=2000000\n")
    for line in (
        "--alter --entity-type topics --entity-name NAME --add-config retention.ms=5",
        "--alter --topic NAME --add-config cleanup.policy=[compact,delete],max.message.bytes=3000",
        f"--alter --topic NAME --add-config-file {file}",
        "--describe --entity-type topics --entity-name NAME",
        "--alter --topic NAME --delete-config retention.ms,max.message.bytes",
        "--describe --topic NAME",
        "--describe --topic NAME --all",
        "--alter --topic NAME --delete-config retention.ms",
        "--alter --topic NAME --add-config no.such=1",
        "--alter --topic NAME --add-config retention.ms",
        "--describe --topic nothing-of-the-name",
    ):
        ours = side.ours(configs, *f"{TO} {line.replace('NAME', 'set-by-ours')}".split())
        kafkas = side.kafkas(KAFKAS, *f"{TO} {line.replace('NAME', 'set-by-kafkas')}".split())
        assert ours.code == kafkas.code, line
        assert ours.out.replace("set-by-ours", "set-by-kafkas") == kafkas.out, line
        assert ours.complaint.replace("set-by-ours", "set-by-kafkas") == kafkas.complaint, line
    ours, kafkas = side.both(configs, KAFKAS, f"{TO} --describe --entity-type topics")
    assert ours.lines == kafkas.lines


def test_settings_of_brokers_are_altered_and_described_as_kafka_does(side: SideBySide) -> None:
    for line in (
        "--alter --entity-type brokers --entity-default --add-config log.retention.ms=700000",
        "--alter --broker-defaults --add-config log.cleaner.threads=1",
        "--alter --broker 1 --add-config log.retention.ms=800000",
        "--describe --broker-defaults",
        "--describe --entity-type brokers --entity-default",
        "--describe --entity-type brokers",
        "--describe --broker 1",
        "--describe --broker 1 --all",
    ):
        ours, kafkas = side.both(configs, KAFKAS, f"{TO} {line}")
        assert (ours.code, ours.out) == (kafkas.code, kafkas.out), line
    for line in (
        "--alter --broker 1 --delete-config log.retention.ms",
        "--alter --broker-defaults --delete-config log.retention.ms,log.cleaner.threads",
    ):
        assert side.ours(configs, *f"{TO} {line}".split()).code == 0
    ours, kafkas = side.both(configs, KAFKAS, f"{TO} --describe --entity-type brokers")
    assert ours.out == kafkas.out


def test_levels_of_loggers_are_altered_and_described_as_kafka_does(side: SideBySide) -> None:
    loggers = f"{TO} --entity-type broker-loggers --entity-name 1"
    for line in (
        "--describe",
        "--alter --add-config penstock.server=DEBUG,kafka.request.logger=ERROR",
        "--describe",
        "--alter --delete-config penstock.server,kafka.request.logger",
        "--describe --all",
        "--alter --add-config penstock.server=LOUD",
        "--alter --add-config no.such.logger=DEBUG",
        "--alter --delete-config root",
    ):
        ours, kafkas = side.both(configs, KAFKAS, f"{loggers} {line}")
        assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out), line
        if "--alter --add-config penstock.server=DEBUG" in line:
            assert "penstock.server=DEBUG" in side.ours(configs, *f"{loggers} --describe".split()).out
    assert ours.code == 1


def test_quotas_are_altered_and_described_as_kafka_does(side: SideBySide) -> None:
    for line in (
        "--alter --client quota-client --add-config producer_byte_rate=1024,consumer_byte_rate=2048",
        "--describe --client quota-client",
        "--alter --user quota-user --client quota-client --add-config request_percentage=50",
        "--describe --entity-type users --entity-name quota-user --entity-type clients",
        "--alter --entity-type clients --entity-default --add-config producer_byte_rate=7",
        "--describe --client-defaults",
        "--describe --entity-type clients",
        "--alter --ip 127.0.0.1 --add-config connection_creation_rate=100",
        "--describe --entity-type ips",
        "--alter --client quota-client --delete-config producer_byte_rate",
        "--describe --client quota-client",
    ):
        ours, kafkas = side.both(configs, KAFKAS, f"{TO} {line}")
        if "--delete-config" in line:  # the second one finds nothing to delete
            assert (ours.code, kafkas.complaint) == (0, "Invalid config(s): producer_byte_rate")
            continue
        assert (ours.code, quotas_sorted(ours.lines)) == (kafkas.code, quotas_sorted(kafkas.lines)), line
    for line in (
        "--alter --client-defaults --delete-config producer_byte_rate",
        "--alter --ip 127.0.0.1 --delete-config connection_creation_rate",
    ):
        assert side.ours(configs, *f"{TO} {line}".split()).code == 0


def test_quotas_of_users_are_described(side: SideBySide) -> None:
    side.ours(configs, *f"{TO} --alter --user shown --add-config producer_byte_rate=5".split())
    said = side.ours(configs, *f"{TO} --describe --user shown".split())
    assert (said.code, said.out) == (
        0,
        "Quota configs for user-principal 'shown' are producer_byte_rate=5.0\n",
    )


def quotas_sorted(lines: list[str]) -> list[list[str]]:
    """Kafka prints the quotas of an entity in the order of a hash table."""
    return [sorted(line.replace(",", "").split()) for line in lines]


def test_scram_credentials_are_altered_and_described_as_kafka_does(side: SideBySide) -> None:
    for line in (
        "--alter --user scram-user --add-config SCRAM-SHA-256=[iterations=8192,password=secret]",
        "--alter --user scram-user --add-config SCRAM-SHA-512=[password=secret]",
        "--describe --user scram-user",
        "--describe --entity-type users",
        "--describe --user nobody",
        "--alter --user scram-user --add-config SCRAM-SHA-256=[iterations=5,password=secret]",
        "--alter --user-defaults --add-config SCRAM-SHA-256=[password=secret]",
        "--alter --user scram-user --add-config SCRAM-SHA-256=[password=secret],producer_byte_rate=5",
        "--alter --user scram-user --add-config nothing=5",
    ):
        ours, kafkas = side.both(configs, KAFKAS, f"{TO} {line}")
        assert (ours.code, ours.lines, ours.complaint) == (kafkas.code, kafkas.lines, kafkas.complaint), line
    words = f"{TO} --alter --user scram-user --delete-config SCRAM-SHA-256,SCRAM-SHA-512".split()
    assert side.ours(configs, *words).code == 0
    assert side.ours(configs, *f"{TO} --describe --user scram-user".split()).out == ""


@pytest.mark.parametrize(
    "line",
    [
        "",
        TO,
        f"{TO} --describe",
        f"{TO} --describe --alter --topic a",
        f"{TO} --describe --topic a --add-config b=c",
        f"{TO} --describe --entity-type wrong",
        "--describe --topic a",
        f"{TO} --describe --topic a --user b",
        f"{TO} --describe --entity-type topics --entity-type topics",
        f"{TO} --describe --entity-type topics --entity-default",
        f"{TO} --describe --entity-type topics --topic a",
        f"{TO} --describe --broker one",
        f"{TO} --describe --entity-type broker-loggers",
        f"{TO} --alter --entity-type topics --add-config a=b",
        f"{TO} --alter --entity-type users --add-config a=b",
        f"{TO} --alter --topic a",
        f"{TO} --alter --topic a --add-config b=c --add-config-file d",
        f"{TO} --alter --client a --add-config b=5",
        f"{TO} --alter --ip 127.0.0.1 --add-config b=5",
        f"{TO} --alter --client a --add-config producer_byte_rate=many",
        f"{TO} --alter --topic a --add-config a/b=c",
        f"{TO} --nothing",
    ],
)
def test_a_mistake_is_answered_as_kafka_answers_it(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(configs, KAFKAS, line)
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)
