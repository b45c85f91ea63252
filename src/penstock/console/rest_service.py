"""`RestService`: another HTTP service of the platform, asked over its JSON API.

    ServiceAway      nothing answers at the address; the text says how to start it
    ServiceRefused   it answered with an error; `.status` and `.error_code` are its own

Both are `ClientError`s, so a feed keeps the last value and a page can show what went wrong.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from penstock.client.errors import ClientError

TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 2.0
ANSWER_BYTES_MAX = 16 * 1024 * 1024


class ServiceAway(ClientError):
    code = "service_away"

    def __init__(self, what: str, url: str, command: str, reason: str) -> None:
        self.what, self.url, self.command, self.reason = what, url, command, reason
        super().__init__(f"{what} does not answer at {url} ({reason}). Start it with: {command}")


class ServiceRefused(ClientError):
    code = "service_refused"

    def __init__(self, what: str, status: int, error_code: int, message: str) -> None:
        self.status, self.error_code, self.message = status, error_code, message
        super().__init__(f"{what} refused: {message or f'status {status}'}")


@dataclass(frozen=True, slots=True)
class About:
    """What a service is called, and what starts it."""

    name: str
    describes: str
    command: str


class RestService:
    def __init__(self, about: About, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.about = about
        self.url = url.rstrip("/")
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    async def ask(
        self, method: str, *path: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> Any:
        """The decoded answer; segments of the path are escaped. None for an answer without a body."""
        address = "/" + "/".join(quote(part, safe="") for part in path)
        try:
            answer = await self._connected().request(method, address, json=body, params=query)
        except httpx.HTTPError as error:
            raise self._away(error) from error
        return self._checked(answer)

    @asynccontextmanager
    async def lines(self, method: str, path: str, body: Any) -> AsyncIterator[AsyncIterator[str]]:
        """The lines of an answer that may never end."""
        limits = httpx.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S, read=None)
        try:
            async with self._connected().stream(method, path, json=body, timeout=limits) as answer:
                if answer.is_error:
                    await answer.aread()
                    self._checked(answer)
                yield answer.aiter_lines()
        except httpx.HTTPError as error:
            raise self._away(error) from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _connected(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                base_url=self.url,
                timeout=httpx.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
                transport=self._transport,
                trust_env=False,  # a proxy of the environment is not on the way to a neighbour
                headers={"Accept": "application/json, */*"},
            )
        return self._client

    def _away(self, error: httpx.HTTPError) -> ServiceAway:
        reason = str(error) or type(error).__name__
        return ServiceAway(self.about.name, self.url, self.about.command, reason)

    def _checked(self, answer: httpx.Response) -> Any:
        if len(answer.content) > ANSWER_BYTES_MAX:
            raise ServiceRefused(self.about.name, 502, 0, f"an answer of {len(answer.content)} bytes")
        try:
            value = answer.json() if answer.content else None
        except (json.JSONDecodeError, UnicodeDecodeError):
            value = answer.text
        if not answer.is_error:
            return value
        told = value if isinstance(value, dict) else {}
        message = str(told.get("message") or value or "")
        raise ServiceRefused(self.about.name, answer.status_code, int(told.get("error_code") or 0), message)
