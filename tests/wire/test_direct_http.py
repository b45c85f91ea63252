"""Credentials go to the address that was named, and not where an answer points."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from penstock.client.schema_registry import RegistryRefused, SchemaRegistry
from penstock.security.authentication import AuthenticationFailed
from penstock.security.oauth_login import OauthLogin
from penstock.wire.direct_http import open_direct
from penstock.wire.oauth_tokens import token_for

SECRET = "user:canary"


class Redirecting:
    """A server that sends everything to another, which notes what arrives."""

    def __init__(self) -> None:
        self.arrived: list[str] = []
        outer = self

        class Thief(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.arrived.append(self.headers.get("Authorization", ""))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"{}")

            do_POST = do_GET  # noqa: N815

        self.thief = HTTPServer(("127.0.0.1", 0), Thief)

        class Sender(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(int(self.path.rpartition("=")[2] or 302) if "=" in self.path else 302)
                self.send_header("Location", f"http://localhost:{outer.thief.server_address[1]}/taken")
                self.end_headers()

            do_POST = do_GET  # noqa: N815

        self.sender = HTTPServer(("127.0.0.1", 0), Sender)
        self.url = f"http://127.0.0.1:{self.sender.server_address[1]}"


@pytest.fixture
def redirecting() -> Iterator[Redirecting]:
    found = Redirecting()
    servers = (found.sender, found.thief)
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,)) for server in servers]
    for thread in threads:
        thread.start()
    yield found
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_redirect_is_followed(redirecting: Redirecting, status: int, method: str) -> None:
    data = b"x" if method == "POST" else None
    request = urllib.request.Request(
        f"{redirecting.url}/?status={status}", data, {"Authorization": SECRET}, method=method
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        open_direct(request, 10)
    assert refused.value.code == status
    assert redirecting.arrived == []


def test_the_registrys_client_keeps_its_password(redirecting: Redirecting) -> None:
    with pytest.raises(RegistryRefused) as refused:
        SchemaRegistry(redirecting.url, authorization=SECRET).latest("s")
    assert refused.value.status == 302
    assert redirecting.arrived == []


def test_the_secret_of_a_client_of_oauth_stays(redirecting: Redirecting) -> None:
    login = OauthLogin(endpoint=f"{redirecting.url}/token", client_id="c", client_secret="canary")
    with pytest.raises(AuthenticationFailed, match="302"):
        token_for(login)
    assert redirecting.arrived == []
