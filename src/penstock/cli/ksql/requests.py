"""Requests to a server: statements, and queries whose rows are read as they come. Blocking."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, Final
from urllib.parse import urlsplit

import click

MEDIA_TYPE: Final = "application/vnd.ksql.v1+json"
DELIMITED: Final = "application/vnd.ksqlapi.delimited.v1"
TIMEOUT_S: Final = 120.0


class Refused(click.ClickException):
    """What the server said no with."""


class Server:
    def __init__(self, url: str, authorization: str = "", tls: ssl.SSLContext | None = None) -> None:
        """`authorization` is the header of that name; `tls` says what is trusted."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise click.ClickException(f"{url!r} is no address of a SQL server: write http://HOST:PORT")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._host, self._port, self._secure = parts.hostname, parts.port or 8088, parts.scheme == "https"
        self._authorization, self._tls = authorization, tls

    def info(self) -> dict[str, Any]:
        with closing(self._connection()) as connection:
            answer = self._asked(connection, "GET", "/info", None, MEDIA_TYPE)
            found: dict[str, Any] = json.loads(answer.read())["KsqlServerInfo"]
            return found

    def ksql(self, text: str, properties: Mapping[str, str]) -> list[dict[str, Any]]:
        body = {"ksql": text, "streamsProperties": dict(properties)}
        with closing(self._connection()) as connection:
            found: list[dict[str, Any]] = json.loads(
                self._asked(connection, "POST", "/ksql", body, MEDIA_TYPE).read()
            )
            return found

    def rows(self, text: str, properties: Mapping[str, str]) -> Iterator[Any]:
        """The columns first, then rows."""
        body = {"sql": text, "properties": dict(properties)}
        for line in self._lines("/query-stream", body, DELIMITED):
            yield json.loads(line)

    def changes(self, text: str, properties: Mapping[str, str]) -> Iterator[Any]:
        """The older form of a query: a header with the key's columns, then rows that may be tombstones."""
        body = {"ksql": text, "streamsProperties": dict(properties)}
        for line in self._lines("/query", body, MEDIA_TYPE):
            found = line.strip().removeprefix("[").removeprefix(",").removesuffix("]").removesuffix(",")
            if found.strip():
                yield json.loads(found)

    def printed(self, text: str, properties: Mapping[str, str]) -> Iterator[str]:
        yield from self._lines("/query", {"ksql": text, "streamsProperties": dict(properties)}, MEDIA_TYPE)

    def _lines(self, path: str, body: dict[str, Any], accept: str) -> Iterator[str]:
        with closing(self._connection()) as connection:
            answer = self._asked(connection, "POST", path, body, accept)
            while line := answer.readline():
                if line.strip():
                    yield line.decode().rstrip("\n")

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_S, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)

    def _asked(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, accept: str
    ) -> http.client.HTTPResponse:
        given = {"Accept": accept, "Content-Type": MEDIA_TYPE}
        if self._authorization:
            given["Authorization"] = self._authorization
        try:
            connection.request(method, path, None if body is None else json.dumps(body), given)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException, socket.gaierror) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise click.ClickException(f"No SQL server answers at {self.url}: {why}.") from error
        if answer.status >= 400:
            raise Refused(_message(answer.read()))
        return answer


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:1000] or "The server gave no reason."
