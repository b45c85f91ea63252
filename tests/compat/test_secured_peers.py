"""Clients that we did not write, by the mechanisms that `test_security.py` does not try with them: franz-go
by all, kcat, Java, kafka-python and aiokafka by tokens, TLS and certificates."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AioTokens
from kafka import KafkaAdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider as PythonTokens

from tests.compat.test_groups_other_languages import go_program
from tests.peers.java_programs import JavaPrograms
from tests.security.certificates import Authority
from tests.security.properties import SECRET, unsecured_token
from tests.security.secured_broker import PASSWORDS, SecuredBroker

WAYS = [
    *(("BOTH", mechanism) for mechanism in (*PASSWORDS, "OAUTHBEARER")),
    *(("SASL", mechanism) for mechanism in (*PASSWORDS, "OAUTHBEARER")),
    ("TLS", "-"),
    ("MUTUAL", "-"),
]
"""Listener and mechanism."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    found = SecuredBroker(tmp_path_factory.mktemp("tls"))
    with found.broker:
        found.prepare("t")
        yield found


def proof(mechanism: str) -> str:
    return unsecured_token() if mechanism == "OAUTHBEARER" else SECRET


class Franz:
    def __init__(self, secured: SecuredBroker) -> None:
        self._secured = secured
        self._program = go_program("franz_secured")

    def __call__(self, listener: str, mechanism: str, password: str, authority: Path | None = None) -> str:
        secured = self._secured
        tls = [str(authority or secured.authority.path), "", ""] if listener != "SASL" else ["", "", ""]
        if listener == "MUTUAL":
            tls[1:] = [str(secured.client.pem), str(secured.client.key)]
        words = [*self._program, secured.address(listener), "t", mechanism, password, *tls]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr


@pytest.mark.timeout(300)
def test_franz_go_comes_in_by_every_mechanism(secured: SecuredBroker) -> None:
    franz = Franz(secured)
    for listener, mechanism in WAYS:
        assert franz(listener, mechanism, proof(mechanism)).startswith("read "), (listener, mechanism)
    refused = franz("BOTH", "SCRAM-SHA-512", "wrong")
    assert "SASL_AUTHENTICATION_FAILED" in refused


@pytest.mark.long
@pytest.mark.timeout(300)
def test_franz_go_is_refused_with_every_wrong_proof(secured: SecuredBroker, tmp_path: Path) -> None:
    franz = Franz(secured)
    for listener in ("SASL", "BOTH"):
        for mechanism in PASSWORDS:
            assert "SASL_AUTHENTICATION_FAILED" in franz(listener, mechanism, "wrong")
        expired = franz(listener, "OAUTHBEARER", unsecured_token(-10))
        assert "unexpected data in oauth response" in expired  # its words for a refusal with a reason
    stranger = Authority(tmp_path, "stranger")
    assert "certificate signed by unknown authority" in franz("TLS", "-", "", stranger.path)


def kcat(
    secured: SecuredBroker, listener: str, mechanism: str, password: str
) -> subprocess.CompletedProcess[str]:
    settings = {"security.protocol": {"SASL": "SASL_PLAINTEXT", "BOTH": "SASL_SSL"}.get(listener, "SSL")}
    if listener != "SASL":
        settings["ssl.ca.location"] = str(secured.authority.path)
    if listener == "MUTUAL":
        settings |= {
            "ssl.certificate.location": str(secured.client.pem),
            "ssl.key.location": str(secured.client.key),
        }
    if mechanism == "OAUTHBEARER":
        settings |= {
            "sasl.mechanism": mechanism,
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": "principal=alice",
        }
    elif mechanism != "-":
        settings |= {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": password}
    words = ["kcat", "-L", "-b", secured.address(listener), "-t", "t", "-m", "5"]
    for name, value in settings.items():
        words += ["-X", f"{name}={value}"]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)


def test_kcat_comes_in_by_every_mechanism_but_scram(secured: SecuredBroker) -> None:
    """Debian's kcat has librdkafka 2.0.2, which repeats its nonce in SCRAM. Apache Kafka refuses that since
    CVE-2024-56128, and so do we."""
    for listener, mechanism in WAYS:
        if mechanism.startswith("SCRAM"):
            continue
        done = kcat(secured, listener, mechanism, SECRET)
        assert done.returncode == 0, (listener, mechanism, done.stderr)
        assert 'topic "t" with 1 partitions' in done.stdout, (listener, mechanism)
    assert "Authentication failed" in kcat(secured, "BOTH", "PLAIN", "wrong").stderr


@pytest.mark.parametrize(("listener", "mechanism"), [("BOTH", "OAUTHBEARER"), ("TLS", "-"), ("MUTUAL", "-")])
def test_javas_client_comes_in(
    secured: SecuredBroker, java_programs: JavaPrograms, listener: str, mechanism: str
) -> None:
    listed = java_programs.run(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", secured.address(listener)),
        *("--command-config", secured.file(listener, mechanism), "--list"),
    )
    assert "t" in listed.split()


class PythonToken(PythonTokens):
    def token(self) -> str:
        return unsecured_token()


def test_kafka_python_comes_in_by_token_tls_and_certificate(secured: SecuredBroker) -> None:
    ways = {
        "BOTH": {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauth_token_provider": PythonToken(),
        },
        "TLS": {"security_protocol": "SSL"},
        "MUTUAL": {
            "security_protocol": "SSL",
            "ssl_certfile": str(secured.client.pem),
            "ssl_keyfile": str(secured.client.key),
        },
    }
    for listener, settings in ways.items():
        admin = KafkaAdminClient(
            bootstrap_servers=secured.address(listener), ssl_cafile=str(secured.authority.path), **settings
        )
        assert "t" in admin.list_topics(), listener
        admin.close()


class AioToken(AioTokens):
    async def token(self) -> str:
        return unsecured_token()


def test_aiokafka_comes_in_by_token_tls_and_certificate(secured: SecuredBroker) -> None:
    trusting = ssl.create_default_context(cafile=str(secured.authority.path))
    own = ssl.create_default_context(cafile=str(secured.authority.path))
    own.load_cert_chain(secured.client.pem, secured.client.key)

    async def partitions(listener: str) -> set[int]:
        settings = {"security_protocol": "SSL", "ssl_context": own if listener == "MUTUAL" else trusting}
        if listener == "BOTH":
            settings |= {
                "security_protocol": "SASL_SSL",
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_oauth_token_provider": AioToken(),
            }
        producer = AIOKafkaProducer(bootstrap_servers=secured.address(listener), **settings)
        await producer.start()
        try:
            await producer.send_and_wait("t", f"{listener} {time.monotonic_ns()}".encode())
            return set(await producer.partitions_for("t"))
        finally:
            await producer.stop()

    for listener in ("BOTH", "TLS", "MUTUAL"):
        assert asyncio.run(partitions(listener)) == {0}, listener
