"""Signed tokens of an issuer whose keys are fetched by HTTPS: librdkafka comes in with them, also when the
issuer was down at first and when it changes its keys."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from cryptography.hazmat.primitives.asymmetric import ec

from penstock.security import jwks_refresh
from penstock.security.jaas import OAUTH_MODULE
from penstock.testing import Broker
from tests.peers.apache_kafka import free_port
from tests.security.certificates import Authority

SECONDS = 20.0


class Issuer:
    """Signs tokens, and serves its public key by HTTPS while it is up."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.port = free_port()
        self.url = f"https://localhost:{self.port}/keys"
        self.asked = 0
        self._identity = self.authority.issue("issuer")
        self._server: ThreadingHTTPServer | None = None
        self.change_key("first")

    def change_key(self, kid: str) -> None:
        self.key, self.kid = ec.generate_private_key(ec.SECP256R1()), kid

    def start(self) -> None:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(issuer.key.public_key()))
                body = json.dumps({"keys": [{**public, "kid": issuer.kid, "alg": "ES256"}]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._identity.pem, self._identity.key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def token(self, **changes: Any) -> str:
        now = int(time.time())
        claims = {"sub": "alice", "iss": self.url, "aud": "kafka", "iat": now, "exp": now + 60, **changes}
        return jwt.encode(claims, self.key, "ES256", {"kid": self.kid})


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    found = Issuer(tmp_path)
    yield found
    found.stop()


def settings(issuer: Issuer, port: int) -> dict[str, str]:
    address, prefix = f"SASL://127.0.0.1:{port}", "listener.name.sasl.oauthbearer."
    return {
        "listeners": address,
        "advertised.listeners": address,
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}sasl.oauthbearer.jwks.endpoint.url": issuer.url,
        f"{prefix}sasl.oauthbearer.expected.issuer": issuer.url,
        f"{prefix}sasl.oauthbearer.expected.audience": "kafka",
        f"{prefix}sasl.jaas.config": (
            f'{OAUTH_MODULE} required ssl.truststore.location="{issuer.authority.path}" '
            'ssl.truststore.type="PEM";'
        ),
    }


def comes_in(port: int, token: str) -> bool:
    admin = AdminClient(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _: (token, time.time() + 60),
            "log_level": 0,
        }
    )
    admin.poll(0.5)
    try:
        return bool(admin.list_topics(timeout=1.2).brokers)
    except KafkaException:
        return False


def test_tokens_are_believed_once_the_issuer_is_there_and_after_it_has_changed_its_key(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks_refresh, "EXPEDITE_MS", 100.0)
    port = free_port()
    with Broker(settings=settings(issuer, port)):
        assert not comes_in(port, issuer.token())
        issuer.start()
        end = time.monotonic() + SECONDS
        while not comes_in(port, issuer.token()):
            assert time.monotonic() < end
        assert not comes_in(port, issuer.token(aud="web"))
        assert not comes_in(port, issuer.token(exp=int(time.time()) - 60))
        issuer.change_key("second")
        assert comes_in(port, issuer.token())
        issuer.stop()
        assert comes_in(port, issuer.token()), "the keys stay when the issuer is gone"
