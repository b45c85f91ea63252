"""Every command reaches a secured broker with `--command-config`, and says at once why it does not."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import CommandLine, Said
from tests.security.secured_broker import PASSWORDS, SecuredBroker


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    found = SecuredBroker(tmp_path_factory.mktemp("tls"))
    with found.broker:
        found.prepare("t")
        yield found


class SecuredCommandLine:
    def __init__(
        self, secured: SecuredBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._secured, self._capsys, self._monkeypatch = secured, capsys, monkeypatch

    def __call__(self, listener: str, config: str, *words: str, stdin: bytes = b"") -> Said:
        at = CommandLine(self._secured.address(listener), self._capsys, self._monkeypatch)
        return at(*words, "--command-config", config, stdin=stdin)


@pytest.fixture
def cli(
    secured: SecuredBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> SecuredCommandLine:
    return SecuredCommandLine(secured, capsys, monkeypatch)


@pytest.mark.parametrize("mechanism", [*PASSWORDS, "OAUTHBEARER"])
def test_records_are_written_and_read_by_every_mechanism(
    secured: SecuredBroker, cli: SecuredCommandLine, mechanism: str
) -> None:
    config = secured.file("BOTH", mechanism)
    topic = f"t-{mechanism}"
    assert cli("BOTH", config, "topic", "create", topic).code == 0
    assert cli("BOTH", config, "produce", topic, stdin=b"one\ntwo\n").code == 0
    read = cli("BOTH", config, "consume", topic, "--from-beginning", "--max", "2", "--idle", "10")
    assert (read.code, read.out) == (0, "one\ntwo\n")


@pytest.mark.parametrize("listener", ["TLS", "MUTUAL", "SASL", "PLAINTEXT"])
def test_every_protocol_is_taken(secured: SecuredBroker, cli: SecuredCommandLine, listener: str) -> None:
    listed = cli(listener, secured.file(listener), "topic", "list")
    assert listed.code == 0
    assert "t\t1\t1\t0" in listed.out.splitlines()


@pytest.mark.parametrize(
    "words",
    [
        "cluster describe",
        "topic describe t",
        "group list",
        "transaction list",
        "transaction find-hanging",
        "topic add-partitions grown --partitions 2",
    ],
)
def test_every_other_command_takes_them_too(
    secured: SecuredBroker, cli: SecuredCommandLine, words: str
) -> None:
    config = secured.file("BOTH")
    cli("BOTH", config, "topic", "create", "grown", "--if-not-exists", "--partitions", "1")
    said = cli("BOTH", config, *words.split())
    assert (said.code, said.err) == (0, "")


def test_the_file_may_name_the_addresses(
    secured: SecuredBroker, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from penstock.cli.main import run

    config = tmp_path / "client.properties"
    text = Path(secured.file("BOTH")).read_text()
    config.write_text(f"bootstrap.servers={secured.address('BOTH')}\n{text}")
    assert run(["cluster", "describe", "--json", "--command-config", str(config)]) == 0
    assert json.loads(capsys.readouterr().out)["brokers"]


@pytest.mark.parametrize(
    ("listener", "config", "why"),
    [
        ("BOTH", ("BOTH", "PLAIN", "wrong"), "refused: .*Check security.protocol"),
        ("BOTH", ("BOTH", "SCRAM-SHA-512", "wrong"), "refused: .*Check security.protocol"),
        ("BOTH", ("SASL", "PLAIN"), "Does the listener want TLS|speaks TLS, and the client does not"),
        ("PLAINTEXT", ("TLS", "PLAIN"), "Is it a TLS listener"),
        ("TLS", ("BOTH", "PLAIN"), "does not offer PLAIN, but no SASL at all"),
        ("TLS", ("PLAINTEXT", "PLAIN"), "Does the listener want TLS or a password"),
        ("SASL", ("PLAINTEXT", "PLAIN"), "Does the listener want TLS or a password"),
        ("MUTUAL", ("TLS", "PLAIN"), "refuses our certificate|want a certificate"),
    ],
)
def test_what_is_wrong_is_said_at_once(
    secured: SecuredBroker, cli: SecuredCommandLine, listener: str, config: tuple[str, ...], why: str
) -> None:
    for words in ("topic list", "produce t", "consume t --max 1", "transaction list"):
        began = time.monotonic()
        said = cli(listener, secured.file(*config), *words.split(), stdin=b"x\n")
        assert said.code == 1, words
        assert re.search(why, said.err), (words, said.err)
        assert len(said.err.splitlines()) == 1, said.err
        assert time.monotonic() - began < 5.0, words


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("security.protocol=TLS", "security.protocol is 'TLS': write one of PLAINTEXT"),
        ("security.protocol=SSL\nssl.truststore.location=/no/such.pem", "/no/such.pem cannot be read"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN", "sasl.jaas.config is missing"),
        ("security.protocol=SASL_SSL", "sasl.mechanism is 'GSSAPI': write one of PLAIN"),
    ],
)
def test_settings_that_cannot_be_honoured_are_named(
    secured: SecuredBroker, cli: SecuredCommandLine, tmp_path: Path, text: str, why: str
) -> None:
    config = tmp_path / "client.properties"
    config.write_text(text)
    said = cli("BOTH", str(config), "topic", "list")
    assert said.code == 1
    assert re.search(why, said.err), said.err
    assert len(said.err.splitlines()) == 1
