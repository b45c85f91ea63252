"""`penstock produce` and `penstock consume` against a broker: what goes in comes out, byte for byte."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator

import pytest

from penstock.testing import Broker
from tests.cli.commands import CommandLine, command

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One for all tests here: each has a topic of its own."""
    with Broker() as running:
        yield running


@pytest.fixture
def cli(broker: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(broker.bootstrap_servers, capsys, monkeypatch)


@pytest.fixture
def topic() -> str:
    return f"t{next(_numbers)}"


_numbers = itertools.count()


def test_lines_come_back_as_they_were(cli: CommandLine, topic: str) -> None:
    text = "one\n\ntwo with  blanks \r\nthree\tä€😀"
    said = cli("produce", topic, stdin=text.encode())
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith(f"4 records written to {topic}")
    back = cli("consume", topic, "--from-beginning", "--max", "4")
    assert back.out == "one\n\ntwo with  blanks \nthree\tä€😀\n"


def test_keys_headers_and_nulls_are_written_and_shown(cli: CommandLine, topic: str) -> None:
    options = ("--key-separator", ":", "--null-marker", "NULL", "--header", "from=test", "--header", "n=1")
    produced = cli("produce", topic, *options, "--json", stdin=b"k:v:w\nk:NULL\nNULL:v\n")
    places = [json.loads(line) for line in produced.out.splitlines()]
    assert [(place["topic"], place["partition"], place["offset"]) for place in places] == [
        (topic, 0, 0),
        (topic, 0, 1),
        (topic, 0, 2),
    ]
    lines = cli("consume", topic, "--from-beginning", "--max", "3", "--json").out.splitlines()
    records = [json.loads(line) for line in lines]
    assert [(r["key"], r["value"]) for r in records] == [("k", "v:w"), ("k", None), (None, "v")]
    assert records[0]["headers"] == [{"name": "from", "value": "test"}, {"name": "n", "value": "1"}]
    assert records[0]["timestamp"] == places[0]["timestamp"]
    shown = cli("consume", topic, "--from-beginning", "--max", "3", "--key-separator", " = ")
    assert shown.out == "k = v:w\nk = null\nnull = v\n"


def test_bytes_that_are_no_text_survive(cli: CommandLine, topic: str) -> None:
    cli("produce", topic, stdin=b"\xff\xfe\n")
    record = json.loads(cli("consume", topic, "--from-beginning", "--max", "1", "--json").out)
    assert record["value_base64"] == "//4="
    assert "value" not in record


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_offered(cli: CommandLine, topic: str, codec: str) -> None:
    assert cli("produce", topic, "--compression", codec, stdin=b"x\n" * 100).code == 0
    assert cli("consume", topic, "--from-beginning", "--max", "100").out == "x\n" * 100


def test_a_partition_and_an_offset_can_be_chosen(cli: CommandLine, topic: str) -> None:
    cli("topic", "create", topic, "--partitions", "2")
    cli("produce", topic, "--partition", "1", stdin=b"a\nb\nc\n")
    cli("produce", topic, "--partition", "0", stdin=b"elsewhere\n")
    assert cli("consume", topic, "--partition", "1", "--offset", "1", "--max", "2").out == "b\nc\n"
    wrong = cli("produce", topic, "--partition", "7", stdin=b"x\n")
    assert wrong.code == 1
    assert f"Topic {topic!r} has no partition 7" in wrong.err


def test_fewer_records_than_asked_for_are_a_failure(cli: CommandLine, topic: str) -> None:
    cli("produce", topic, stdin=b"a\n")
    said = cli("consume", topic, "--from-beginning", "--max", "2", "--idle", "3")
    assert (said.code, said.out) == (1, "a\n")
    assert "Only 1 of 2 records came" in said.err
    assert cli("consume", topic, "--from-beginning", "--idle", "0.3").code == 0


def test_a_line_without_a_key_is_a_failure(cli: CommandLine, topic: str) -> None:
    said = cli("produce", topic, "--key-separator", ":", stdin=b"a:b\nc\n")
    assert said.code == 1
    assert "Line 2 has no key" in said.err


def test_a_topic_that_is_not_there_cannot_be_consumed(cli: CommandLine) -> None:
    said = cli("consume", "none")
    assert said.code == 1
    assert "There is no topic named 'none'" in said.err


def test_a_reader_that_goes_away_is_no_failure(cli: CommandLine, topic: str) -> None:
    cli("produce", topic, stdin=(b"x" * 100 + b"\n") * 20_000)
    arguments = ("consume", topic, "--from-beginning", "--bootstrap-servers", cli.bootstrap_servers)
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"x" * 100 + b"\n"
    process.stdout.close()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    process.stderr.close()
