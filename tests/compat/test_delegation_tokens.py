"""Delegation tokens with Kafka's own command and clients: made, shown, renewed, used to log in, and ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.security.jaas import SCRAM_MODULE
from penstock.testing import Broker
from tests.peers.apache_kafka import free_port
from tests.peers.java_programs import JavaPrograms

SECONDS = 20.0
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
KEY = "the key of every token"


class Tokened:
    """A broker with tokens: a plain listener for the harness, and one with SCRAM."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        ports = {"PLAINTEXT": free_port(), "SASL": free_port()}
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        self.plain, self.scram = (f"127.0.0.1:{port}" for port in ports.values())
        self.broker = Broker(
            settings={
                "listeners": listeners,
                "advertised.listeners": listeners,
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
                "delegation.token.secret.key": KEY,
            }
        )

    def client(self, name: str, password: str, mechanism: str, more: str = "") -> str:
        """A file of properties for Kafka's tools."""
        path = self._folder / "client.properties"
        path.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nretries=0\n"
            f'sasl.jaas.config={SCRAM_MODULE} required username="{name}" password="{password}"{more};\n'
        )
        return str(path)

    def alice(self) -> tuple[str, ...]:
        file = self.client("alice", "hers", "SCRAM-SHA-512")
        return ("--bootstrap-server", self.scram, "--command-config", file)


@pytest.fixture(scope="module")
def tokened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokened]:
    found = Tokened(tmp_path_factory.mktemp("tokens"))
    with found.broker:
        admin = AdminClient({"bootstrap.servers": found.plain})
        wish = UserScramCredentialUpsertion(
            "alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"hers"
        )
        for future in admin.alter_user_scram_credentials([wish]).values():
            future.result(SECONDS)
        for future in admin.create_topics([NewTopic("t", 1, 1)]).values():
            future.result(SECONDS)
        yield found


def row(printed: str) -> list[str]:
    """Id, HMAC, owner, requester, renewers and three times, out of the table that Kafka's command prints."""
    return printed.strip().splitlines()[-1].split()


def created(tokened: Tokened, java_programs: JavaPrograms) -> tuple[str, str]:
    words = ("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
    token_id, hmac, *parties = row(java_programs.run(TOKENS, *tokened.alice(), *words))
    assert parties[:3] == ["User:alice", "User:alice", "[User:bob]"]
    return token_id, hmac


def topics_seen_by_token(
    tokened: Tokened, java_programs: JavaPrograms, token_id: str, hmac: str, mechanism: str
) -> tuple[int, str, str]:
    file = tokened.client(token_id, hmac, mechanism, ' tokenauth="true"')
    words = ("--bootstrap-server", tokened.scram, "--command-config", file, "--list")
    return java_programs.outcome("org.apache.kafka.tools.TopicCommand", *words)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kafkas_client_logs_in_by_token_until_the_token_ends(
    tokened: Tokened, java_programs: JavaPrograms, mechanism: str
) -> None:
    token_id, hmac = created(tokened, java_programs)
    code, said, _ = topics_seen_by_token(tokened, java_programs, token_id, hmac, mechanism)
    assert (code, said.split()) == (0, ["t"])
    other = ("B" if hmac[0] == "A" else "A") + hmac[1:]
    code, said, _ = topics_seen_by_token(tokened, java_programs, token_id, other, mechanism)
    assert code != 0
    assert "invalid credentials with SASL mechanism" in said
    java_programs.run(TOKENS, *tokened.alice(), "--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    code, said, _ = topics_seen_by_token(tokened, java_programs, token_id, hmac, mechanism)
    assert code != 0
    assert "invalid credentials with SASL mechanism" in said


def test_kafkas_command_shows_and_renews_tokens(tokened: Tokened, java_programs: JavaPrograms) -> None:
    token_id, hmac = created(tokened, java_programs)
    shown = java_programs.run(TOKENS, *tokened.alice(), "--describe", "--owner-principal", "User:alice")
    assert token_id in [line.split()[0] for line in shown.strip().splitlines()[1:] if line.strip()]
    said = java_programs.run(TOKENS, *tokened.alice(), "--renew", "--renew-time-period", "-1", "--hmac", hmac)
    assert "Completed renew operation" in said
    code, _, errors = java_programs.outcome(
        TOKENS, *tokened.alice(), "--renew", "--renew-time-period", "-1", "--hmac", "aGVsbG8="
    )
    assert code != 0
    assert "DelegationTokenNotFoundException" in errors


def test_kafkas_command_is_refused_with_a_token(tokened: Tokened, java_programs: JavaPrograms) -> None:
    token_id, hmac = created(tokened, java_programs)
    file = tokened.client(token_id, hmac, "SCRAM-SHA-512", ' tokenauth="true"')
    server = ("--bootstrap-server", tokened.scram, "--command-config", file)
    code, _, errors = java_programs.outcome(TOKENS, *server, "--create", "--max-life-time-period", "-1")
    assert code != 0
    assert "DelegationTokenDisabledException" in errors or "UnsupportedByAuthenticationException" in errors
