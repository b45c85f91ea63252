"""Who may use the console through a browser."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from penstock.console.guard import Guard, is_loopback


async def hello(_: Any) -> PlainTextResponse:
    return PlainTextResponse("hello")


def ask(
    method: str = "GET", *, listen: str = "127.0.0.1", allowed: tuple[str, ...] = (), **headers: str
) -> httpx.Response:
    app = Starlette(routes=[Route("/", hello, methods=["GET", "POST", "DELETE"])])

    async def body() -> httpx.Response:
        transport = httpx.ASGITransport(Guard(app, listen_host=listen, allowed_hosts=allowed))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9021") as client:
            return await client.request(method, "/", headers=headers)

    return asyncio.run(body())


@pytest.mark.parametrize("host", ["127.0.0.1:9021", "localhost:9021", "[::1]:9021", "127.3.2.1"])
def test_loopback_names_are_answered(host: str) -> None:
    assert ask(Host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:9021", "", "[::"]
)
def test_a_name_pointed_at_this_machine_by_a_stranger_is_refused(host: str) -> None:
    answer = ask(Host=host)
    assert answer.status_code == 403
    assert "does not answer to the name" in answer.json()["message"]


def test_names_can_be_allowed() -> None:
    assert ask(allowed=("Console.Example",), Host="console.example:443").status_code == 200
    assert ask(listen="0.0.0.0", allowed=("console.example",), Host="other.example").status_code == 403


def test_listening_for_everybody_answers_to_any_name_unless_names_are_given() -> None:
    assert ask(listen="0.0.0.0", Host="machine.local:9021").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_page_of_another_origin_may_neither_read_nor_write(method: str) -> None:
    assert ask(method, Origin="http://evil.example").status_code == 403
    assert ask(method, Origin="http://127.0.0.1:9022").status_code == 403
    assert ask(method, Origin="null").status_code == 403
    assert ask(method, Origin="http://127.0.0.1:9021").status_code == 200
    assert ask(method).status_code == 200, "a client without a browser sends no Origin"


def test_a_socket_of_another_origin_is_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def never(*_: Any) -> None:
        raise AssertionError("the request went through")

    headers = [(b"host", b"127.0.0.1:9021"), (b"origin", b"http://evil.example")]
    scope = {"type": "websocket", "path": "/_nicegui_ws/socket.io/", "headers": headers}
    asyncio.run(Guard(never, listen_host="127.0.0.1")(scope, never, send))
    assert sent[0]["type"] == "websocket.close"


def test_every_answer_carries_the_policy() -> None:
    headers = ask().headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_loopback_is_recognised() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "LOCALHOST", "0.0.0.0", "10.0.0.1", "x")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
