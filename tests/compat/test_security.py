"""Clients that we did not write come in by every mechanism that they have, and not with a wrong proof."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError as AioError
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka import KafkaAdminClient
from kafka.errors import KafkaError as PythonError

from penstock.security.jaas import PLAIN_MODULE, SCRAM_MODULE
from penstock.server.connections import tls
from penstock.testing import Broker
from tests.peers.apache_kafka import free_port
from tests.peers.java_programs import JavaPrograms
from tests.security.certificates import PASSWORD, Authority
from tests.security.properties import LISTENERS, SECRET, secured_properties, unsecured_token

SECONDS = 20.0
PASSWORDS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class Secured:
    """Our broker with a listener for each protocol, and what clients need to reach it."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.server = self.authority.issue("broker")
        self.client = self.authority.issue("alice")
        self.ports = {name: free_port() for name in LISTENERS}
        self.broker = Broker(settings=secured_properties(self.authority, self.server, self.ports))

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def librdkafka(self, listener: str, mechanism: str = "PLAIN", password: str = SECRET) -> dict[str, Any]:
        common = {"bootstrap.servers": self.address(listener), "ssl.ca.location": str(self.authority.path)}
        if listener in ("SASL", "BOTH"):
            protocol = "SASL_PLAINTEXT" if listener == "SASL" else "SASL_SSL"
            return {
                **common,
                "security.protocol": protocol,
                "sasl.mechanism": mechanism,
                "sasl.username": "alice",
                "sasl.password": password,
            }
        identity = {
            "ssl.certificate.location": str(self.client.pem),
            "ssl.key.location": str(self.client.key),
        }
        return {**common, "security.protocol": "SSL", **(identity if listener == "MUTUAL" else {})}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    found = Secured(tmp_path_factory.mktemp("tls"))
    with found.broker:
        admin = AdminClient({"bootstrap.servers": found.address("PLAINTEXT")})
        wishes = [
            UserScramCredentialUpsertion("alice", ScramCredentialInfo(kind, 4096), SECRET.encode())
            for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        ]
        for wish in wishes:
            for future in admin.alter_user_scram_credentials([wish]).values():
                future.result(SECONDS)
        for future in admin.create_topics([NewTopic("t", 1, 1)]).values():
            future.result(SECONDS)
        yield found


@pytest.mark.parametrize("listener", ["SASL", "BOTH", "TLS", "MUTUAL"])
@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_librdkafka_produces_and_consumes(secured: Secured, listener: str, mechanism: str) -> None:
    if listener in ("TLS", "MUTUAL") and mechanism != "PLAIN":
        return  # there is no mechanism to choose
    settings = secured.librdkafka(listener, mechanism)
    value = f"{listener}-{mechanism}-".encode() + os.urandom(200_000)
    producer = Producer({**settings, "message.max.bytes": 900_000})
    errors: list[Any] = []
    producer.produce("t", value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(SECONDS) == 0
    assert errors == [None]
    consumer = Consumer({**settings, "group.id": f"{listener}{mechanism}", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    end = time.monotonic() + SECONDS
    found = False
    while not found and time.monotonic() < end:
        record = consumer.poll(0.5)
        found = record is not None and record.error() is None and record.value() == value
    consumer.close()
    assert found


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_librdkafka_is_told_that_its_password_is_wrong(secured: Secured, mechanism: str) -> None:
    codes: list[int] = []
    settings = secured.librdkafka("SASL", mechanism, "wrong")
    admin = AdminClient({**settings, "error_cb": lambda error: codes.append(error.code()), "log_level": 0})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=3)
    admin.poll(1)
    assert KafkaError._AUTHENTICATION in codes


def test_librdkafka_comes_in_with_a_token(secured: Secured) -> None:
    settings = {
        "bootstrap.servers": secured.address("SASL"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (unsecured_token(), time.time() + 60),
    }
    admin = AdminClient(settings)
    admin.poll(1)
    assert "t" in admin.list_topics(timeout=SECONDS).topics


@pytest.mark.parametrize("mechanism", PASSWORDS)
@pytest.mark.parametrize("listener", ["SASL", "BOTH"])
def test_kafka_python_comes_in(secured: Secured, listener: str, mechanism: str) -> None:
    def names(password: str) -> list[str]:
        admin = KafkaAdminClient(
            bootstrap_servers=secured.address(listener),
            security_protocol="SASL_PLAINTEXT" if listener == "SASL" else "SASL_SSL",
            ssl_cafile=str(secured.authority.path),
            sasl_mechanism=mechanism,
            sasl_plain_username="alice",
            sasl_plain_password=password,
            bootstrap_timeout_ms=3000,
        )
        try:
            return list(admin.list_topics())
        finally:
            admin.close()

    assert "t" in names(SECRET)
    with pytest.raises(PythonError):
        names("wrong")


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_aiokafka_comes_in(secured: Secured, mechanism: str) -> None:
    context = ssl.create_default_context(cafile=str(secured.authority.path))

    async def names(password: str) -> list[str]:
        admin = AIOKafkaAdminClient(
            bootstrap_servers=secured.address("BOTH"),
            security_protocol="SASL_SSL",
            ssl_context=context,
            sasl_mechanism=mechanism,
            sasl_plain_username="alice",
            sasl_plain_password=password,
        )
        try:
            await admin.start()
            return list(await admin.list_topics())
        finally:
            await admin.close()

    assert "t" in asyncio.run(names(SECRET))
    with pytest.raises(AioError):
        asyncio.run(names("wrong"))


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_kafkas_own_tools_come_in(
    secured: Secured, mechanism: str, java_programs: JavaPrograms, tmp_path: Path
) -> None:
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SASL_SSL\n"
        f"sasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={module} required username="alice" password="{SECRET}";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={secured.authority.path}\n"
    )
    listed = java_programs.run(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", secured.address("BOTH"), "--command-config", str(properties), "--list"),
    )
    assert "t" in listed.split()


def test_kafkas_own_tools_come_in_with_a_certificate_and_set_passwords(
    secured: Secured, java_programs: JavaPrograms, tmp_path: Path
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SSL\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={secured.authority.path}\n"
        f"ssl.keystore.type=PKCS12\nssl.keystore.location={secured.client.pkcs12}\n"
        f"ssl.keystore.password={PASSWORD}\nssl.key.password={PASSWORD}\n"
    )
    server = ("--bootstrap-server", secured.address("MUTUAL"), "--command-config", str(properties))
    user = ("--entity-type", "users", "--entity-name", "carol")
    java_programs.run(
        "kafka.admin.ConfigCommand",
        *(*server, "--alter", *user, "--add-config", "SCRAM-SHA-512=[iterations=8192,password=hers]"),
    )
    said = java_programs.run("kafka.admin.ConfigCommand", *server, "--describe", *user)
    assert "SCRAM-SHA-512=iterations=8192" in said
    settings = secured.librdkafka("SASL", "SCRAM-SHA-512", "hers") | {"sasl.username": "carol"}
    assert "t" in AdminClient(settings).list_topics(timeout=SECONDS).topics
    admin = AdminClient({"bootstrap.servers": secured.address("PLAINTEXT")})
    gone = UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_512)
    for future in admin.alter_user_scram_credentials([gone]).values():
        future.result(SECONDS)
    again = AdminClient({**settings, "log_level": 0})
    with pytest.raises(KafkaException):
        again.list_topics(timeout=3)


def test_a_client_without_tls_on_a_listener_with_it_is_named_in_the_log(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING),
        socket.create_connection(("127.0.0.1", secured.ports["TLS"])) as plain,
    ):
        plain.settimeout(SECONDS)
        plain.sendall(b"\x00\x00\x00\x10\x00\x12\x00\x03\x00\x00\x00\x01\x00\x04test")
        with suppress(ConnectionResetError):
            while plain.recv(1000):
                pass
    end = time.monotonic() + SECONDS
    while "does not speak TLS" not in caplog.text and time.monotonic() < end:
        time.sleep(0.01)  # the line is written by the connection's thread
    assert "TLS handshake failed" in caplog.text
    assert "does not speak TLS" in caplog.text


def test_a_certificate_that_is_replaced_is_used_by_the_next_connection(tmp_path: Path) -> None:
    secured = Secured(tmp_path)

    def serial() -> int:
        context = ssl.create_default_context(cafile=str(secured.authority.path))
        with (
            socket.create_connection(("127.0.0.1", secured.ports["TLS"]), SECONDS) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as wrapped,
        ):
            certificate = wrapped.getpeercert()
            assert certificate is not None
            return int(str(certificate["serialNumber"]), 16)

    with secured.broker:
        old = serial()
        with socket.create_connection(("127.0.0.1", secured.ports["TLS"]), SECONDS) as plain:
            context = ssl.create_default_context(cafile=str(secured.authority.path))
            with context.wrap_socket(plain, server_hostname="localhost") as kept:
                fresh = secured.authority.issue("renewed").pkcs12.read_bytes()
                secured.server.pkcs12.write_bytes(b"not a keystore")
                time.sleep(1.1)  # longer than the broker's pause between two looks
                assert serial() == old
                secured.server.pkcs12.write_bytes(fresh)
                end = time.monotonic() + SECONDS
                while serial() == old:
                    assert time.monotonic() < end
                kept.sendall(b"\x00\x00\x00\x0e\x00\x12\x00\x00\x00\x00\x00\x01\x00\x04test")
                assert len(kept.recv(4)) == 4


def test_a_stranger_may_not_send_large_frames_and_who_is_known_may(secured: Secured) -> None:
    with socket.create_connection(("127.0.0.1", secured.ports["SASL"])) as stranger:
        stranger.settimeout(SECONDS)
        stranger.sendall((50_000_000).to_bytes(4, "big") + bytes(1000))
        with suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
    producer = Producer({**secured.librdkafka("SASL"), "message.max.bytes": 1_000_000})
    errors: list[Any] = []
    producer.produce("t", os.urandom(900_000), on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(SECONDS) == 0
    assert errors == [None]


def test_handshakes_that_are_never_finished_delay_nobody_and_end(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "HANDSHAKE_SECONDS", 3.0)
    silent = [socket.create_connection(("127.0.0.1", secured.ports["TLS"]), SECONDS) for _ in range(150)]
    try:
        began = time.monotonic()
        admin = AdminClient(secured.librdkafka("TLS"))
        assert "t" in admin.list_topics(timeout=SECONDS).topics
        assert time.monotonic() - began < 3.0, "it waited for the others' handshakes"
        for one in silent:
            one.settimeout(SECONDS)
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
    finally:
        for one in silent:
            one.close()


def test_no_secret_is_logged_or_described(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    secrets = (SECRET, PASSWORD)
    with caplog.at_level(logging.DEBUG):
        secured = Secured(tmp_path)
        with secured.broker:
            admin = AdminClient(secured.librdkafka("BOTH", "PLAIN"))
            assert admin.list_topics(timeout=SECONDS).topics is not None
            wrong = AdminClient({**secured.librdkafka("BOTH", "PLAIN", "wrong-secret"), "log_level": 0})
            with pytest.raises(KafkaException):
                wrong.list_topics(timeout=2)
            resource = ConfigResource(ConfigResource.Type.BROKER, "1")
            (described,) = admin.describe_configs([resource]).values()
            values = [entry.value or "" for entry in described.result(SECONDS).values()]
    said = "\n".join([*values, *(record.getMessage() for record in caplog.records)])
    assert not [secret for secret in (*secrets, "wrong-secret") if secret in said]
    assert len(values) > 50
