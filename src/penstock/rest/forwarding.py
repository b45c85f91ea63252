"""With several workers, a consumer instance lives in one of them: the one that its name says. A request that
comes to another worker is passed on, so that clients need not know.

An ASGI application around the proxy's own.
"""

from __future__ import annotations

import asyncio
import ssl
import uuid
import zlib
from contextlib import suppress
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.types import Message, Receive, Scope, Send

from penstock.rest.config import BODY_BYTES_MAX
from penstock.rest.errors import UNAVAILABLE, RestError
from penstock.web.application import App
from penstock.web.errors import encode
from penstock.web.workers import Worker

_HOP: Final = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"expect"})
_CHUNK: Final = 65_536


class Forwarding:
    def __init__(self, app: App, worker: Worker, id_of_proxy: str, *, tls: bool) -> None:
        self._app = app
        self._worker = worker
        self._prefix = f"rest-consumer-{id_of_proxy}-" if id_of_proxy else "rest-consumer-"
        self._tls = _trusting() if tls else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = _parts(scope)
        if len(parts) == 2 and scope["method"] == "POST":
            await self._create(parts[1], scope, receive, send)
        elif len(parts) >= 4 and parts[2] == "instances":
            owner = owner_of(parts[1], parts[3], self._worker.count)
            await self._serve(owner, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _create(self, group: str, scope: Scope, receive: Receive, send: Send) -> None:
        """One without a name gets a name that this worker owns."""
        body = await _whole(receive)
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            found = msgspec.json.decode(body) if body.strip() else {}
            if isinstance(found, dict):
                named = found.get("id") or found.get("name") or self._new_name(group)
                if isinstance(named, str):
                    if not (found.get("id") or found.get("name")):
                        body = msgspec.json.encode({**found, "name": named})
                    scope = {**scope, "headers": _with_length(scope["headers"], len(body))}
                    owner = owner_of(group, named, self._worker.count)
                    await self._serve(owner, scope, _given(body, receive), send)
                    return
        await self._app(scope, _given(body, receive), send)

    def _new_name(self, group: str) -> str:
        while True:
            name = f"{self._prefix}{uuid.uuid4()}"
            if owner_of(group, name, self._worker.count) == self._worker.number:
                return name

    async def _serve(self, owner: int, scope: Scope, receive: Receive, send: Send) -> None:
        if owner == self._worker.number:
            await self._app(scope, receive, send)
            return
        try:
            place = str(self._worker.socket_of(owner))
            hostname = "worker" if self._tls is not None else None
            reader, writer = await asyncio.open_unix_connection(
                place, ssl=self._tls, server_hostname=hostname
            )
        except OSError:
            await _unavailable(send)
            return
        try:
            await _pass_on(scope, receive, send, reader, writer)
        finally:
            writer.close()


async def _pass_on(
    scope: Scope, receive: Receive, send: Send, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """As HTTP/1.0, so that the connection ends with the answer."""
    body = await _whole(receive)
    headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _HOP]
    headers.append((b"content-length", str(len(body)).encode()))
    query = scope.get("query_string", b"")
    target = scope["raw_path"].partition(b"?")[0] + (b"?" + query if query else b"")
    lines = [b"%s %s HTTP/1.0" % (scope["method"].encode(), target)]
    lines += [b"%s: %s" % header for header in headers]
    writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
    gone = asyncio.create_task(_closed_when_left(receive, writer))
    try:
        try:
            start, chunked = _start_of(await reader.readuntil(b"\r\n\r\n"))
        except (OSError, asyncio.IncompleteReadError):
            await _unavailable(send)
            return
        await send(start)
        while data := await (_chunk(reader) if chunked else reader.read(_CHUNK)):
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    except (OSError, asyncio.IncompleteReadError):  # one of both is gone
        return
    finally:
        gone.cancel()


async def _chunk(reader: asyncio.StreamReader) -> bytes:
    size = int(await reader.readuntil(b"\r\n"), 16)
    return (await reader.readexactly(size + 2))[:size]


def _start_of(head: bytes) -> tuple[Message, bool]:
    """And whether the body comes in chunks."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    pairs = (line.partition(b":") for line in lines)
    headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
    kept = [(name, value) for name, value in headers if name not in (b"connection", b"transfer-encoding")]
    start = {"type": "http.response.start", "status": int(first.split()[1]), "headers": kept}
    return start, (b"transfer-encoding", b"chunked") in headers


async def _closed_when_left(receive: Receive, writer: asyncio.StreamWriter) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    writer.close()


def owner_of(group: str, name: str, count: int) -> int:
    return zlib.crc32(f"{group}\0{name}".encode()) % count


def _parts(scope: Scope) -> list[str]:
    if scope["type"] != "http":
        return []
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    if not path.startswith(b"/consumers/"):
        return []
    parts = path.partition(b"?")[0].strip(b"/").split(b"/")
    return [unquote_to_bytes(part).decode(errors="replace") for part in parts]


async def _whole(receive: Receive) -> bytes:
    """A body; one that is too large is cut behind the bound, which the application refuses."""
    body = bytearray()
    while len(body) <= BODY_BYTES_MAX:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _given(body: bytes, receive: Receive) -> Receive:
    """The body once more, and then what comes after it."""
    left = [body]

    async def again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again


def _with_length(headers: list[tuple[bytes, bytes]], length: int) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in headers if name not in (b"content-length", b"transfer-encoding")]
    return [*kept, (b"content-length", str(length).encode())]


async def _unavailable(send: Send) -> None:
    why = "The worker that has this consumer instance starts again. Create the instance again in a moment."
    error = RestError(UNAVAILABLE, why)
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": encode(error), "more_body": False})


def _trusting() -> ssl.SSLContext:
    """For a socket in a folder of our own, which nobody else can listen on."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
