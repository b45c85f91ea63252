"""`penstock consume`: kcat's formats, time ranges, patterns, values decoded by their schemas."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from penstock.testing import Broker
from tests.cli.commands import CommandLine
from tests.registry.processes import RegistryProcess

pytestmark = pytest.mark.timeout(90)
BASE_MS = 1_700_000_000_000
_numbers = itertools.count()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def cli(broker: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(broker.bootstrap_servers, capsys, monkeypatch)


@pytest.fixture
def topic(broker: Broker) -> str:
    """Ten records, one a minute, with keys and headers."""
    name = f"f{next(_numbers)}"
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(10):
        producer.produce(
            name,
            f"value {number}",
            key=f"k{number % 3}",
            headers=[("n", str(number).encode())],
            timestamp=BASE_MS + number * 60_000,
        )
    assert producer.flush(20) == 0
    return name


def test_a_format_is_kcats(cli: CommandLine, broker: Broker, topic: str) -> None:
    layout = "%t [%p] at %o: %T key %k (%K) value %s (%S) headers %h 100%%\\n"
    ours = cli("consume", topic, "--from-beginning", "--end", "-f", layout)
    assert ours.out.splitlines()[4] == (
        f"{topic} [0] at 4: {BASE_MS + 240_000} key k1 (2) value value 4 (7) headers n=4 100%"
    )
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    kcat = ["kcat", "-b", broker.bootstrap_servers, "-C", "-t", topic, "-e", "-q", "-f", layout]
    assert subprocess.run(kcat, capture_output=True, text=True, timeout=60).stdout == ours.out


def test_a_range_of_time_is_read_to_its_end(cli: CommandLine, topic: str) -> None:
    since, until = "2023-11-14T22:15:20", str(BASE_MS + 5 * 60_000)
    said = cli("consume", topic, "--since", since, "--until", until)
    assert said.out.splitlines() == ["value 2", "value 3", "value 4"]
    assert said.code == 0


def test_records_are_found_by_key_value_or_header(cli: CommandLine, topic: str) -> None:
    found = cli("consume", topic, "--from-beginning", "--end", "--grep", "^k2$", "-f", "%o ")
    assert found.out == "2 5 8 "
    assert cli("consume", topic, "--from-beginning", "-e", "--grep", "ue 7").out == "value 7\n"
    assert (
        cli("consume", topic, "--from-beginning", "-e", "--grep", "n=3", "--headers").out == "n=3\tvalue 3\n"
    )
    limited = cli("consume", topic, "--from-beginning", "--grep", "value", "--max", "2")
    assert limited.out == "value 0\nvalue 1\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--since", "yesterday"], "is no time"),
        (["--grep", "("], "no regular expression"),
        (["-f", "%z"], "no part of a format"),
        (["--since", "1h", "--from-beginning"], "Give one of"),
    ],
)
def test_a_mistake_is_a_sentence(cli: CommandLine, topic: str, options: list[str], sentence: str) -> None:
    said = cli("consume", topic, *options)
    assert said.code == 2
    assert sentence in said.err


def test_values_are_decoded_by_their_schemas(cli: CommandLine, broker: Broker) -> None:
    from penstock.cli.kafka.schema_consoles import avro_console_producer
    from penstock.cli.kafka.starting import run

    registry = RegistryProcess(broker.bootstrap_servers).start()
    try:
        schema = '{"type":"record","name":"r","fields":[{"name":"price","type":"double"}]}'
        words = ["--bootstrap-server", broker.bootstrap_servers, "--topic", "decoded"]
        words += ["--property", f"schema.registry.url={registry.url}", "--property", f"value.schema={schema}"]
        cli("topic", "create", "decoded")
        with pytest.MonkeyPatch.context() as patch:
            import io
            import sys

            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"price":1.5}\n{"price":2.5}\n')))
            assert run(avro_console_producer, words) == 0
        cli("produce", "decoded", stdin=b"plain\n")
        line = ["consume", "decoded", "--from-beginning", "--end", "--registry", registry.url]
        assert cli(*line).out.splitlines() == ['{"price":1.5}', '{"price":2.5}', "plain"]
        assert cli(*line, "--grep", "2.5").out.splitlines() == ['{"price":2.5}']
        records = [json.loads(text) for text in cli(*line, "--json").out.splitlines()]
        assert [record["value"] for record in records] == [{"price": 1.5}, {"price": 2.5}, "plain"]
    finally:
        registry.stop()
    gone = cli("consume", "decoded", "--from-beginning", "--end", "--registry", registry.url)
    assert gone.code == 1
    assert "cannot be decoded" in gone.err
