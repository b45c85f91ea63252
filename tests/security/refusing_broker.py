"""A broker, ours or Apache Kafka, whose listeners are each wrong in one way, and clients that were not
written here: what does each say when it may not come in?"""

from __future__ import annotations

import asyncio
import logging
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AioTokens
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider as PythonTokens

from penstock.security.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from penstock.testing import Broker
from tests.peers.apache_kafka import ApacheKafka, free_port
from tests.security.certificates import PASSWORD, Authority, Issued
from tests.security.properties import UNSECURED, unsecured_token

DELAY_MS = 400
SECONDS = 30.0
RIGHT, WRONG = "right-password", "wrong-password"
LISTENERS = ("PLAINTEXT", "TLS", "EXPIRED", "ELSEWHERE", "MUTUAL", "BOTH")


class RefusingBroker:
    def __init__(self, folder: Path, kind: str = "penstock") -> None:
        self.authority, self.stranger = Authority(folder), Authority(folder, "stranger")
        self.ports = {name: free_port() for name in LISTENERS}
        good, expired = self.authority.issue("broker"), self.authority.issue("expired", days=-1)
        elsewhere = self.authority.issue("elsewhere", host="elsewhere.test")
        self.clients = {
            "known": self.authority.issue("alice"),
            "expired": self.authority.issue("alice", days=-1, file="alice-expired"),
            "unknown": self.stranger.issue("alice", file="alice-unknown"),
        }
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        own = 'username="node" password="n" user_node="n"'
        settings = {
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": (
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
                "TLS:SSL,EXPIRED:SSL,ELSEWHERE:SSL,MUTUAL:SSL,BOTH:SASL_SSL"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.both.plain.sasl.jaas.config": (
                f'{PLAIN_MODULE} required {own} user_alice="{RIGHT}";'
            ),
            "listener.name.both.oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
            "listener.name.both.oauthbearer.sasl.server.callback.handler.class": UNSECURED,
            "listener.name.mutual.ssl.client.auth": "required",
            "ssl.truststore.location": str(self.authority.path),
            "ssl.truststore.type": "PEM",
            "connection.failed.authentication.delay.ms": str(DELAY_MS),
            **stored("", good),
            **stored("listener.name.expired.", expired),
            **stored("listener.name.elsewhere.", elsewhere),
        }
        for name in ("256", "512"):
            settings[f"listener.name.both.scram-sha-{name}.sasl.jaas.config"] = f"{SCRAM_MODULE} required;"
        self.is_apache = kind == "apache"
        self.broker: ApacheKafka | Broker
        if self.is_apache:
            self.broker = ApacheKafka(settings)
            controller = f"CONTROLLER://127.0.0.1:{self.broker.controller_port}"
            self.broker.settings["listeners"] = f"{listeners},{controller}"
            self.broker.bootstrap_servers = f"127.0.0.1:{self.ports['PLAINTEXT']}"
        else:
            self.broker = Broker(settings=settings)

    def way(self, case: str, mechanism: str = "PLAIN") -> Way:
        """How a client of this case comes."""
        trusted, client = self.authority.path, None
        listener = {
            "expired server": "EXPIRED",
            "wrong host": "ELSEWHERE",
            "unknown server": "TLS",
            "expired client": "MUTUAL",
            "unknown client": "MUTUAL",
        }.get(case, "BOTH")
        if case == "unknown server":
            trusted = self.stranger.path
        if listener == "MUTUAL":
            client = self.clients[case.split()[0]]
        token = unsecured_token(-60) if case == "expired token" else ""
        name = "nobody" if case == "unknown user" else "alice"
        address = f"127.0.0.1:{self.ports[listener]}"
        return Way(address, trusted, client, mechanism if listener == "BOTH" else "", name, WRONG, token)


def stored(prefix: str, issued: Issued) -> dict[str, str]:
    return {
        f"{prefix}ssl.keystore.location": str(issued.pkcs12),
        f"{prefix}ssl.keystore.type": "PKCS12",
        f"{prefix}ssl.keystore.password": PASSWORD,
    }


@dataclass(frozen=True)
class Way:
    """Everything that a client needs."""

    address: str
    trusted: Path
    client: Issued | None
    mechanism: str
    user: str
    password: str
    token: str

    @property
    def protocol(self) -> str:
        return "SASL_SSL" if self.mechanism else "SSL"

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.trusted))
        if self.client is not None:
            context.load_cert_chain(self.client.pem, self.client.key)
        return context


def librdkafka_settings(way: Way) -> dict[str, Any]:
    found: dict[str, Any] = {
        "bootstrap.servers": way.address,
        "security.protocol": way.protocol,
        "ssl.ca.location": str(way.trusted),
    }
    if way.client is not None:
        found |= {"ssl.certificate.location": str(way.client.pem), "ssl.key.location": str(way.client.key)}
    if way.token:
        found["sasl.mechanism"] = "OAUTHBEARER"
    elif way.mechanism:
        found |= {"sasl.mechanism": way.mechanism, "sasl.username": way.user, "sasl.password": way.password}
    return found


def librdkafka(way: Way) -> str:
    said: list[str] = []
    settings = librdkafka_settings(way) | {"error_cb": lambda error: said.append(f"{error.name()} {error}")}
    if way.token:
        settings["oauth_cb"] = lambda _: (way.token, time.time() + 60)
    admin = AdminClient({**settings, "log_level": 0})
    end = time.monotonic() + SECONDS
    while not said and time.monotonic() < end:
        with suppress(KafkaException):
            admin.poll(0.1)
            admin.list_topics(timeout=0.2)
            return "came in"
    return " ".join(said)


def kcat(way: Way) -> str:
    words = ["kcat", "-L", "-b", way.address, "-m", "3"]
    for name, value in librdkafka_settings(way).items():
        words += ["-X", f"{name}={value}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout + done.stderr


class _PythonToken(PythonTokens):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def token(self) -> str:
        return self._text


def kafka_python(way: Way) -> str:
    found: dict[str, Any] = {"security_protocol": way.protocol, "ssl_context": way.context()}
    if way.token:
        found |= {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": _PythonToken(way.token)}
    elif way.mechanism:
        names = {"sasl_plain_username": way.user, "sasl_plain_password": way.password}
        found |= {"sasl_mechanism": way.mechanism, **names}
    with _Words("kafka") as words:
        try:
            KafkaAdminClient(bootstrap_servers=way.address, bootstrap_timeout_ms=2500, **found).close()
        except Exception as error:
            return f"{type(error).__name__} {error} {words.text}"
    return "came in"


class _AioToken(AioTokens):
    def __init__(self, text: str) -> None:
        self._text = text

    async def token(self) -> str:
        return self._text


def aiokafka(way: Way) -> str:
    async def start() -> None:
        found: dict[str, Any] = {"security_protocol": way.protocol, "ssl_context": way.context()}
        if way.token:
            found |= {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": _AioToken(way.token)}
        elif way.mechanism:
            names = {"sasl_plain_username": way.user, "sasl_plain_password": way.password}
            found |= {"sasl_mechanism": way.mechanism, **names}
        producer = AIOKafkaProducer(bootstrap_servers=way.address, **found)
        try:
            await producer.start()
        finally:
            await producer.stop()

    with _Words("aiokafka") as words:
        try:
            asyncio.run(start())
        except Exception as error:
            return f"{type(error).__name__} {error} {words.text}"
    return "came in"


class _Words(logging.Handler):
    """What a client logs meanwhile: some say there why they were refused."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.WARNING)
        self._logger = logging.getLogger(name)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += record.getMessage() + "\n"

    def __enter__(self) -> _Words:
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)


def java_properties(way: Way) -> str:
    lines = {
        "security.protocol": way.protocol,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(way.trusted),
        "default.api.timeout.ms": "8000",
        "request.timeout.ms": "5000",
    }
    if way.client is not None:
        lines |= {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(way.client.pkcs12),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
        }
    if way.mechanism:
        module = PLAIN_MODULE if way.mechanism == "PLAIN" else SCRAM_MODULE
        entry = f'{module} required username="{way.user}" password="{way.password}";'
        lines |= {"sasl.mechanism": way.mechanism, "sasl.jaas.config": entry}
    return "".join(f"{name}={value}\n" for name, value in lines.items())


CLIENTS: dict[str, Callable[[Way], str]] = {
    "librdkafka": librdkafka,
    "kcat": kcat,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
