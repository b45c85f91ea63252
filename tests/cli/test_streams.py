"""`penstock streams …` against a broker, with an application as its offsets, topics and transactional id."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from penstock.client.admin import Admin
from penstock.client.groups import Groups
from tests.cli.commands import CommandLine

SECONDS = 10
APP = "word-count"


@pytest.fixture
def application(cli: CommandLine) -> Producer:
    """Ten records in, six of them processed, exactly once; its internal topics, and one of another's."""
    for topic in ("in", "out", f"{APP}-counts-changelog", f"{APP}-counts-repartition", f"{APP}-out"):
        cli("topic", "create", topic, "--partitions", "1")
    plain = Producer({"bootstrap.servers": cli.bootstrap_servers})
    for number in range(10):
        plain.produce("in", str(number), timestamp=1_000_000 + number)
    plain.flush(SECONDS)
    producer = Producer({"bootstrap.servers": cli.bootstrap_servers, "transactional.id": APP})
    producer.init_transactions(SECONDS)
    commit(cli, producer, 6)
    return producer


def commit(cli: CommandLine, producer: Producer, offset: int) -> None:
    reader = Consumer({"bootstrap.servers": cli.bootstrap_servers, "group.id": APP})
    producer.begin_transaction()
    producer.produce("out", "x")
    group = reader.consumer_group_metadata()
    producer.send_offsets_to_transaction([TopicPartition("in", 0, offset, "version 3")], group, SECONDS)
    producer.commit_transaction(SECONDS)
    reader.close()


def committed(cli: CommandLine) -> dict[tuple[str, int], int]:
    return Groups(Admin(cli.bootstrap_servers)).committed(APP)


@pytest.mark.usefixtures("application")
def test_an_application_is_described_by_what_the_cluster_knows(cli: CommandLine) -> None:
    described = json.loads(cli("streams", "describe", "--application-id", APP, "--json").out)
    assert described["input"] == [{"topic": "in", "partition": 0, "committed": 6, "end": 10}]
    assert (described["lag"], described["running"]) == (4, False)
    names = [topic["name"] for topic in described["internal_topics"]]
    assert names == [f"{APP}-counts-changelog", f"{APP}-counts-repartition"]
    assert "in\t0\t6\t10" in cli("streams", "describe", "--application-id", APP).out


@pytest.mark.usefixtures("application")
def test_a_reset_begins_anew_and_leaves_results_alone(cli: CommandLine) -> None:
    done = json.loads(cli("streams", "reset", "--application-id", APP, "--input-topics", "in", "--json").out)
    assert done["offsets"] == [{"topic": "in", "partition": 0, "offset": 0}]
    assert committed(cli) == {("in", 0): 0}
    left = {topic.name for topic in Admin(cli.bootstrap_servers).topics() if not topic.internal}
    assert left == {"in", "out", f"{APP}-out"}


@pytest.mark.usefixtures("application")
def test_a_reset_goes_where_it_is_told(cli: CommandLine) -> None:
    for options, offset in (
        (["--to-offset", "8"], 8),
        (["--shift-by", "-2"], 6),
        (["--to-datetime", "1970-01-01T00:16:40.003"], 3),
        (["--by-duration", "PT1H"], 10),
        (["--to-earliest"], 0),
        (["--to-latest"], 10),
    ):
        assert cli("streams", "reset", "--application-id", APP, *options).code == 0
        assert committed(cli) == {("in", 0): offset}, options


@pytest.mark.usefixtures("application")
def test_a_dry_run_changes_nothing(cli: CommandLine) -> None:
    said = cli("streams", "reset", "--application-id", APP, "--dry-run").out
    assert f"{APP}-counts-changelog would be deleted" in said
    assert committed(cli) == {("in", 0): 6}
    assert len(Admin(cli.bootstrap_servers).topics()) > 4


def test_an_application_with_an_open_transaction_is_refused_and_fenced_by_force(
    cli: CommandLine, application: Producer
) -> None:
    application.begin_transaction()
    application.produce("out", "half")
    application.flush(SECONDS)
    refused = cli("streams", "reset", "--application-id", APP)
    assert (refused.code, "its transaction is open" in refused.err) == (1, True)
    assert cli("streams", "reset", "--application-id", APP, "--force").code == 0
    with pytest.raises(KafkaException):
        application.commit_transaction(SECONDS)
    assert committed(cli) == {("in", 0): 0}


@pytest.mark.usefixtures("application")
def test_an_application_whose_group_has_members_is_refused(cli: CommandLine) -> None:
    settings = {"bootstrap.servers": cli.bootstrap_servers, "group.id": APP, "enable.auto.commit": False}
    member = Consumer(settings)
    member.subscribe(["in"])
    while not member.assignment():
        member.poll(0.1)
    refused = cli("streams", "reset", "--application-id", APP)
    member.close()
    assert (refused.code, "its group has 1 members" in refused.err) == (1, True)
    assert committed(cli) == {("in", 0): 6}


@pytest.mark.usefixtures("application")
def test_what_cannot_be_done_is_said(cli: CommandLine) -> None:
    for options, code, said in (
        (["--application-id", "nobody"], 1, "There is no application 'nobody'"),
        (["--application-id", APP, "--input-topics", "gone"], 1, "There is no topic named 'gone'"),
        (["--application-id", APP, "--to-latest", "--to-offset", "1"], 2, "Only one of the options"),
        (["--application-id", APP, "--to-datetime", "soon"], 2, "'soon' is no time"),
        (["--application-id", APP, "--by-duration", "P"], 2, "'P' is no duration"),
    ):
        refused = cli("streams", "reset", *options)
        assert (refused.code, said in refused.err) == (code, True), refused.err
