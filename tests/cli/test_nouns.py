"""`penstock config|quota|log|perf|profile|completion`, and how far a group is behind in seconds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.cli.main import run
from penstock.testing import Broker
from tests.cli.commands import CommandLine

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def cli(broker: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(broker.bootstrap_servers, capsys, monkeypatch)


def test_settings_are_shown_set_and_unset(cli: CommandLine) -> None:
    cli("topic", "create", "configured")
    assert cli("config", "set", "topic:configured", "retention.ms=1000", "max.message.bytes=2000").code == 0
    shown = [
        json.loads(line) for line in cli("config", "show", "topic:configured", "--json").out.splitlines()
    ]
    values = {each["name"]: each["value"] for each in shown}
    assert (values["retention.ms"], values["max.message.bytes"]) == ("1000", "2000")
    assert cli("config", "unset", "topic:configured", "retention.ms").code == 0
    assert "retention.ms" not in cli("config", "show", "topic:configured").out
    assert "retention.ms" in cli("config", "show", "topic:configured", "--all").out
    assert cli("config", "set", "cluster", "log.cleaner.threads=1", "--dry-run").code == 0
    wrong = cli("config", "show", "nothing:x")
    assert (wrong.code, "Write topic:NAME" in wrong.err) == (1, True)


def test_quotas_are_set_listed_and_unset(cli: CommandLine) -> None:
    assert cli("quota", "set", "producer_byte_rate=1024", "--user", "alice", "--client", "jobs").code == 0
    assert cli("quota", "set", "consumer_byte_rate=2048", "--default-user").code == 0
    listed = cli("quota", "list").out.splitlines()
    assert "user alice, client jobs\tproducer_byte_rate\t1024.0" in listed
    assert "user (default)\tconsumer_byte_rate\t2048.0" in listed
    assert cli("quota", "unset", "producer_byte_rate", "--user", "alice", "--client", "jobs").code == 0
    assert "alice" not in cli("quota", "list").out
    wrong = cli("quota", "set", "speed=1", "--user", "alice")
    assert (wrong.code, "there are producer_byte_rate" in wrong.err) == (2, True)
    assert cli("quota", "set", "producer_byte_rate=1").code == 2


def test_a_group_is_behind_in_records_and_seconds(cli: CommandLine, broker: Broker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    now = round(time.time() * 1000)
    for number in range(5):
        producer.produce("behind", str(number), timestamp=now - 100_000 + number * 10_000)
    assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "slow"})
    consumer.commit(offsets=[TopicPartition("behind", 0, 2)], asynchronous=False)
    consumer.close()
    told = json.loads(cli("group", "describe", "slow", "--json").out)
    (partition,) = told["partitions"]
    assert partition["lag"] == 3
    assert 80 <= partition["lag_seconds"] < 200
    assert "3 records behind, " in cli("group", "describe", "slow").out
    preview = cli("group", "reset-offsets", "slow", "--to-earliest", "--dry-run").out
    assert preview == "behind\t0\t2\t0\t2\n"
    assert cli("group", "reset-offsets", "slow", "--to-latest").code == 0
    told = json.loads(cli("group", "describe", "slow", "--json").out)
    assert (told["partitions"][0]["lag"], told["partitions"][0]["lag_seconds"]) == (0, 0.0)


def test_a_log_is_dumped(cli: CommandLine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(str(tmp_path)) as own:
        producer = Producer({"bootstrap.servers": own.bootstrap_servers})
        producer.produce("dumped", "seen", key="k")
        assert producer.flush(20) == 0
    capsys.readouterr()
    assert run(["log", "dump", str(tmp_path / "dumped-0"), "--records"]) == 0
    assert "payload: seen" in capsys.readouterr().out
    assert run(["log", "dump", str(tmp_path)]) == 1
    assert "Name the folder of a partition" in capsys.readouterr().err


def test_speed_is_measured(cli: CommandLine) -> None:
    assert "500 records sent" in cli("perf", "produce", "fast", "--records", "500").out
    assert "data.consumed.in.MB" in cli("perf", "consume", "fast", "--records", "500").out
    assert "Avg latency" in cli("perf", "latency", "fast", "--records", "3").out


def test_a_profile_says_where_commands_go(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_CONFIG_DIR", str(tmp_path))
    secret = "sasl.jaas.config=Login required password=hidden;"
    make = ["profile", "create", "prod", "--bootstrap-servers", broker.bootstrap_servers, "--set", secret]
    assert run(make) == 0
    assert (tmp_path / "profiles" / "prod.properties").stat().st_mode & 0o077 == 0
    assert run(["profile", "show", "prod"]) == 0
    assert "password" not in capsys.readouterr().out
    assert run(["profile", "create", "plain", "--bootstrap-servers", broker.bootstrap_servers]) == 0
    assert run(["profile", "use", "plain"]) == 0
    capsys.readouterr()
    assert run(["topic", "create", "by-profile"]) == 0
    assert run(["topic", "list"]) == 0
    assert "by-profile" in capsys.readouterr().out
    assert run(["profile", "use", "elsewhere"]) == 1
    assert "there are: plain, prod" in capsys.readouterr().err
    assert run(["profile", "delete", "plain"]) == 0
    assert run(["profile", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"prod\t{broker.bootstrap_servers}\t"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_PENSTOCK_COMPLETE" in capsys.readouterr().out
