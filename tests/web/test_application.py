"""The shell: routing, media types, bounds of bodies, errors, the principal, the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient

from penstock.security.access import Open
from penstock.security.principals import user
from penstock.web import (
    Answer,
    Call,
    Caller,
    HttpError,
    MediaTypes,
    Problem,
    Query,
    Route,
    Service,
    make_app,
)

V1 = "application/vnd.example.v1+json"


class Greeting(msgspec.Struct):
    name: str
    details: Any = None


async def show(call: Call) -> dict[str, Any]:
    return {"path": dict(call.path), "query": dict(call.query), "principal": str(call.principal)}


async def greet(call: Call) -> Answer:
    return Answer({"hello": call.body.name}, 201, {"x-greeted": "yes"})


async def refuse(_call: Call) -> None:
    raise HttpError(404, "Subject 'x' not found.", 40401)


async def break_down(_call: Call) -> None:
    raise ZeroDivisionError("a secret")


async def raw(_call: Call) -> Response:
    return Response(b"raw", media_type="text/plain")


ROUTES = (
    Route(
        "GET",
        "/things/{thing}",
        show,
        "Shows.",
        access=Open("a test"),
        query=(Query("deep", bool, False), Query("limit", int, -1)),
    ),
    Route("GET", "/things/known", raw, "A literal path beside a parameter.", access=Open("a test")),
    Route(
        "POST",
        "/things/{thing}",
        greet,
        "Greets.",
        access=Open("a test"),
        body=Greeting,
        returns=dict[str, str],
        status=201,
    ),
    Route(
        "GET",
        "/refused",
        refuse,
        "Refuses.",
        access=Open("a test"),
        problems=(Problem(404, "No such subject", 40401),),
    ),
    Route("GET", "/broken", break_down, "Breaks.", access=Open("a test")),
)


async def by_header(request: Request, _route: Route) -> Caller:
    if request.headers.get("x-user") == "eve":
        raise HttpError(401, "Eve is not welcome.", 40101)
    return Caller(user(request.headers.get("x-user", "ANONYMOUS")))


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    types = MediaTypes((V1, "application/json"), (V1, "application/json"))
    service = Service("Example", "1", "An example.", types, body_bytes_max=10_000, authenticate=by_header)
    with TestClient(make_app(service, ROUTES), raise_server_exceptions=False) as client:
        yield client


def test_a_parameter_takes_a_whole_segment_with_its_escaped_slash(client: TestClient) -> None:
    assert client.get("/things/a%2Fb%20c").json()["path"] == {"thing": "a/b c"}


def test_a_literal_segment_wins_over_a_parameter_where_it_has_the_method(client: TestClient) -> None:
    assert client.get("/things/known").text == "raw"
    assert client.post("/things/known", json={"name": "you"}).json() == {"hello": "you"}


def test_query_parameters_have_their_types_and_defaults(client: TestClient) -> None:
    assert client.get("/things/x").json()["query"] == {"deep": False, "limit": -1}
    assert client.get("/things/x?deep=true&limit=5").json()["query"] == {"deep": True, "limit": 5}


@pytest.mark.parametrize("query", ["deep=perhaps", "limit=many", "limit=" + "9" * 5_000])
def test_a_query_parameter_that_cannot_be_read_is_named(client: TestClient, query: str) -> None:
    answer = client.get(f"/things/x?{query}")
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.json()["message"]


def test_an_answer_carries_its_status_and_headers(client: TestClient) -> None:
    answer = client.post("/things/x", json={"name": "you"})
    assert (answer.status_code, answer.headers["x-greeted"]) == (201, "yes")


def test_a_refusal_has_the_code_of_the_service(client: TestClient) -> None:
    answer = client.get("/refused")
    assert answer.status_code == 404
    assert answer.json() == {"error_code": 40401, "message": "Subject 'x' not found."}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("DELETE", "/refused", 405), ("GET", "/things/%ff", 400)],
)
def test_what_no_route_takes_is_refused_in_the_same_form(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()["error_code"]) == (status, status)


def test_a_bug_tells_the_client_nothing_of_its_inside(client: TestClient) -> None:
    answer = client.get("/broken")
    assert answer.status_code == 500
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("accept", "given"),
    [
        ("", V1),
        ("*/*", V1),
        ("application/json", "application/json"),
        (f"{V1};q=0.5, application/json", "application/json"),
        ("application/*;q=0.1", V1),
    ],
)
def test_the_client_chooses_the_media_type(client: TestClient, accept: str, given: str) -> None:
    assert client.get("/things/x", headers={"accept": accept}).headers["content-type"] == given


def test_media_types_that_are_not_spoken_are_refused(client: TestClient) -> None:
    assert client.get("/things/x", headers={"accept": "text/html"}).status_code == 406
    answer = client.post("/things/x", content=b"{}", headers={"content-type": "text/xml"})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b'{"name": 5}', 422),
        (b'{"name": "\xff"}', 400),
        (b'{"name": "x", "details": ' + b"[" * 300 + b"]" * 300 + b"}", 422),
        (b'{"name": "' + b"x" * 20_000 + b'"}', 413),
    ],
)
def test_a_body_that_is_not_of_the_routes_form_is_refused(
    client: TestClient, body: bytes, status: int
) -> None:
    assert client.post("/things/x", content=body).status_code == status


def test_brackets_within_strings_are_no_depth(client: TestClient) -> None:
    answer = client.post("/things/x", json={"name": '["\\' * 400})
    assert answer.status_code == 201


def test_a_page_of_another_site_changes_nothing(client: TestClient) -> None:
    """A browser would send it, without a question first, when the content type is one of a form."""
    for origin in ("https://evil.test", "null", "http://testserver.evil.test", "http://testserver:81"):
        refused = client.post("/things", content=b"{}", headers={"Origin": origin})
        assert (refused.status_code, refused.json()["error_code"]) == (403, 40302), origin
    assert client.post("/things", content=b"{}", headers={"Origin": "http://testserver"}).status_code != 403
    assert client.post("/things", content=b"{}").status_code != 403


def test_every_request_is_authenticated(client: TestClient) -> None:
    assert client.get("/things/x", headers={"x-user": "alice"}).json()["principal"] == "User:alice"
    assert client.get("/things/x", headers={"x-user": "eve"}).json()["error_code"] == 40101
    assert client.get("/openapi.json", headers={"x-user": "eve"}).status_code == 401


def test_the_document_tells_paths_bodies_and_problems(client: TestClient) -> None:
    told = client.get("/openapi.json").json()
    assert told["openapi"] == "3.1.0"
    post = told["paths"]["/things/{thing}"]["post"]
    assert post["requestBody"]["content"][V1]["schema"] == {"$ref": "#/components/schemas/Greeting"}
    assert "40401" in told["paths"]["/refused"]["get"]["responses"]["404"]["description"]
