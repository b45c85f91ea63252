"""Tokens of a client: from an endpoint, from a file, and made by the client itself."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from penstock.security.authentication import AuthenticationFailed
from penstock.security.client_settings import ClientSettings, ClientSettingsError
from penstock.security.jaas import OAUTH_MODULE
from penstock.security.oauth_login import OauthLogin
from penstock.security.oauthbearer import unsecured
from penstock.wire.oauth_tokens import token_for
from tests.security.properties import unsecured_token


class Issuer(ThreadingHTTPServer):
    """A token endpoint that believes one client."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), IssuerAnswer)
        self.asked: list[str] = []


class IssuerAnswer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Issuer)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append(body)
        good = base64.b64encode(b"app:app-secret").decode()
        known = self.headers["Authorization"] == f"Basic {good}"
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": unsecured_token(3600)} if known else {}).encode())

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    server = Issuer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def login(issuer: Issuer, secret: str = "app-secret") -> OauthLogin:
    given = f'clientId="app" clientSecret="{secret}"'
    settings = ClientSettings.from_properties(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{issuer.server_address[1]}/token",
            "sasl.login.callback.handler.class": (
                "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
            ),
            "sasl.jaas.config": f'{OAUTH_MODULE} required {given} scope="kafka";',
        }
    )
    assert settings.sasl is not None
    assert settings.sasl.login is not None
    assert "app-secret" not in repr(settings)
    return settings.sasl.login


def test_an_endpoint_gives_a_token_for_credentials_and_is_asked_once(issuer: Issuer) -> None:
    first, second = token_for(login(issuer)), token_for(login(issuer))
    assert first == second
    assert first.name == "alice"
    assert first.expires_s == pytest.approx(time.time() + 3600, abs=5)
    assert issuer.asked == ["grant_type=client_credentials&scope=kafka"]


def test_a_refused_client_is_told_the_endpoint_and_no_secret(issuer: Issuer) -> None:
    with pytest.raises(AuthenticationFailed, match=r"/token gives no token: it answers 401") as failed:
        token_for(login(issuer, "wrong-secret"))
    assert "wrong-secret" not in str(failed.value)


def test_an_endpoint_that_is_not_there_is_named() -> None:
    with pytest.raises(AuthenticationFailed, match=r"http://127\.0\.0\.1:1/token gives no token"):
        token_for(OauthLogin(endpoint="http://127.0.0.1:1/token", client_id="a", client_secret="b"))


def test_a_file_holds_a_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{unsecured_token()}\n")
    assert token_for(OauthLogin(endpoint=f"file://{file}")).name == "alice"
    with pytest.raises(AuthenticationFailed, match="no token in"):
        token_for(OauthLogin(endpoint="file:///no/such/token"))


def test_an_unsecured_token_is_made_for_trials() -> None:
    token = token_for(OauthLogin(claims=(("scope", "a b"), ("sub", "bob")), lifetime_s=60))
    proof = unsecured(token.text, round(time.time() * 1000), required_scopes=["a"])
    assert proof.principal.name == "bob"


@pytest.mark.parametrize(
    ("more", "options", "why"),
    [
        ({}, "", "needs sasl.oauthbearer.token.endpoint.url"),
        ({"sasl.oauthbearer.token.endpoint.url": "ftp://x"}, "", "begins with https:"),
        (
            {"sasl.oauthbearer.token.endpoint.url": "https://x"},
            'clientId="a"',
            "needs clientId and clientSecret",
        ),
        (
            {},
            'unsecuredLoginStringClaim_sub="a" unsecuredLoginLifetimeSeconds="x"',
            "whole number of seconds",
        ),
        ({"sasl.login.callback.handler.class": "com.example.Handler"}, "", "com.example.Handler is of Java"),
    ],
)
def test_what_is_missing_is_said(more: dict[str, str], options: str, why: str) -> None:
    with pytest.raises(ClientSettingsError, match=why):
        ClientSettings.from_properties(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": f"{OAUTH_MODULE} required {options};",
                **more,
            }
        )
