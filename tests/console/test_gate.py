"""The console's login: sessions that end, requests of other sites, roles; without a browser and a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from penstock.client.errors import BrokerRefused
from penstock.console.fake_backend import FakeBackend
from penstock.console.gate import Gate, caller_of, seat_of
from penstock.console.remotes import Addresses, Remotes
from penstock.console.seats import Role, Seats, role_of
from penstock.console.services import Services
from penstock.console.sessions import FAILURES_MAX, IDLE_S, LONGEST_S
from penstock.security.acls import Acl, PatternType, Permission
from penstock.security.authorizer import AllowAll, Authorizer
from penstock.security.client_settings import Sasl
from penstock.security.operations import CLUSTER_NAME, Operation, ResourceType
from penstock.security.principals import user
from penstock.security.standard_authorizer import StandardAuthorizer
from penstock.web import Caller, Door, take_door_settings

HOST = "http://console.test"
OWN = {"Origin": HOST}


async def inner(scope: Scope, receive: Receive, send: Send) -> None:
    """What stands behind the gate: it says who has come, and repeats what a socket sends."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    caller, seat = caller_of(scope), seat_of(scope)
    name = "" if caller is None or seat is None else f"{caller.principal.name} {seat.role.word}"
    if scope["type"] == "http":
        await JSONResponse({"who": name})(scope, receive, send)
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": f"{name}: {message['text']}"})


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def everybody_may() -> Authorizer:
    return AllowAll()


def unused(_sasl: Sasl) -> Any:
    raise AssertionError("no caller has credentials of the broker")


def remotes(_caller: Caller, _role: Role) -> Remotes:
    return Remotes.at(Addresses())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(tmp_path: Path, clock: Clock) -> Iterator[TestClient]:
    users = tmp_path / "users"
    users.write_text("alice: right,admin\nvic: right,viewer\n")
    texts = {"authentication.method": "BASIC", "authentication.password.file": str(users)}
    door = Door(take_door_settings(texts)[0])
    seats = Seats(Services.over(FakeBackend()), unused, remotes, lambda _services: inner, clock)
    gate = Gate(inner, door, seats, everybody_may, clock)
    with TestClient(gate, base_url=HOST, follow_redirects=False) as found:
        yield found


def log_in(client: TestClient, name: str = "alice", password: str = "right", to: str = "/topics") -> Any:
    form = {"name": name, "password": password, "next": to}
    return client.post("/login", data=form, headers=OWN)


def test_without_a_session_a_page_leads_to_the_login_and_the_api_is_closed(client: TestClient) -> None:
    page = client.get("/topics/a?from=oldest")
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2Ftopics%2Fa%3Ffrom%3Doldest")
    for path in ("/api/topics", "/api/me", "/metrics", "/openapi.json", "/api"):
        assert client.get(path).status_code == 401, path
    assert client.post("/anything").status_code == 401
    assert client.get("/api/topics", headers={"Cookie": "penstock=forged"}).status_code == 401


def test_a_session_begins_with_the_password_and_ends_with_the_logout(client: TestClient) -> None:
    refused = log_in(client, password="wrong")
    assert refused.status_code == 401
    assert "Name or password is wrong" in refused.text
    entered = log_in(client)
    assert (entered.status_code, entered.headers["location"]) == (303, "/topics")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/api/topics").json() == {"who": "alice admin"}
    assert client.get("/api/me").json() == {"principal": "User:alice", "role": "admin"}
    token = client.cookies["penstock"]
    assert client.post("/logout", headers=OWN).status_code == 303
    assert client.get("/api/topics", headers={"Cookie": f"penstock={token}"}).status_code == 401


def test_a_session_ends_by_time(client: TestClient, clock: Clock) -> None:
    log_in(client)
    began = clock.now
    while clock.now < began + LONGEST_S - IDLE_S:
        clock.now += IDLE_S - 1
        assert client.get("/api/me").status_code == 200
    clock.now = began + LONGEST_S
    assert client.get("/api/me").status_code == 401, "used all the time, and over all the same"
    log_in(client)
    clock.now += IDLE_S
    assert client.get("/api/me").status_code == 401, "not used"


def test_a_page_of_another_site_changes_nothing(client: TestClient) -> None:
    log_in(client)
    form = {"name": "alice", "password": "right"}
    evil = {"Origin": "https://evil.test"}
    for headers in ({}, evil, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.post("/api/topics", headers=headers).status_code == 403, headers
        assert client.post("/logout", headers=headers).status_code == 403
        assert client.post("/login", data=form, headers=headers).status_code == 403
    assert client.post("/api/topics", headers=OWN).status_code == 200
    assert client.post("/api/topics", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


@pytest.mark.parametrize(
    "to", ["//evil.test", "https://evil.test", "/\\evil.test", "\\evil", "evil", "/a\nb"]
)
def test_the_login_leads_nowhere_else(client: TestClient, to: str) -> None:
    assert log_in(client, to=to).headers["location"] == "/"


def test_a_page_shows_what_it_was_given_as_text(client: TestClient) -> None:
    page = client.get("/login", params={"next": '/"><script>alert(1)</script>'})
    assert "<script>" not in page.text


def test_many_wrong_passwords_are_not_tried(client: TestClient, clock: Clock) -> None:
    for _ in range(FAILURES_MAX):
        assert log_in(client, password="wrong").status_code == 401
    assert log_in(client).status_code == 429
    clock.now += 61
    assert log_in(client).status_code == 303


def test_a_program_comes_with_a_header(client: TestClient) -> None:
    assert client.post("/api/topics", auth=("alice", "right")).json() == {"who": "alice admin"}
    assert client.get("/api/topics", auth=("alice", "wrong")).status_code == 401
    assert client.post("/api/topics", auth=("vic", "right")).status_code == 403, "a viewer"
    assert client.get("/api/topics", auth=("vic", "right")).json() == {"who": "vic viewer"}


def test_a_socket_needs_a_session_and_ends_with_it(client: TestClient, clock: Clock) -> None:
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/_nicegui_ws/"):
        pass
    log_in(client)
    cookie = {"Cookie": f"penstock={client.cookies['penstock']}"}
    with client.websocket_connect("/_nicegui_ws/", headers=cookie) as socket:
        socket.send_text("hello")
        assert socket.receive_text() == "alice admin: hello"
        clock.now += IDLE_S - 1
        socket.send_text("2")  # a heartbeat, which keeps no session alive
        assert socket.receive_text() == "alice admin: 2"
        clock.now += 2
        socket.send_text("hello")
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()


def test_a_viewer_that_no_broker_knows_changes_nothing() -> None:
    asyncio.run(_change_as_viewer())


async def _change_as_viewer() -> None:
    seats = Seats(Services.over(FakeBackend()), unused, remotes, lambda _services: inner, Clock())
    caller = Caller(user("vic"), roles=frozenset({"viewer"}))
    backend = seats.of(caller, Role.VIEWER).services.backend
    assert (await backend.snapshot()).cluster.cluster_id == "fake"
    with pytest.raises(BrokerRefused):
        await backend.create_topic("new", None, None, {})
    with pytest.raises(BrokerRefused):
        await backend.delete_topic("orders")


def test_roles_are_what_the_entries_amount_to() -> None:
    def entry(kind: ResourceType, name: str, who: str, operation: Operation) -> Acl:
        return Acl(kind, PatternType.LITERAL, name, f"User:{who}", "*", operation, Permission.ALLOW)

    entries = {
        b"1": entry(ResourceType.CLUSTER, CLUSTER_NAME, "root", Operation.ALTER),
        b"2": entry(ResourceType.TOPIC, "a", "writer", Operation.WRITE),
        b"3": entry(ResourceType.TOPIC, "a", "reader", Operation.READ),
    }
    authorizer = StandardAuthorizer(lambda: entries, {"User:super"})
    names = ("root", "writer", "reader", "none", "super")
    roles = {name: role_of(Caller(user(name)), authorizer) for name in names}
    assert roles == {
        "root": Role.ADMIN,
        "super": Role.ADMIN,
        "writer": Role.EDITOR,
        "reader": Role.VIEWER,
        "none": Role.VIEWER,
    }
