"""The client of both HTTP connectors: headers, credentials, time limits, and what is tried again."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from penstock.connect.api import ConfigKey, Importance, Kind
from penstock.connect.api.config_def import at_least, one_of
from penstock.connect.api.guards import allowed_address
from penstock.connect.api.refusals import Mistakes, missing, require, unsupported
from penstock.connect.api.retries import Retries, retry_keys
from penstock.connect.connectors.http.templates import url_mistakes
from penstock.connect.errors import ConfigError, ConnectError, RetriableError

ANSWER_BYTES_MAX: Final = 64 << 20
SHOWN: Final = 500
_HIGH, _MEDIUM, _LOW, _TEXT = Importance.HIGH, Importance.MEDIUM, Importance.LOW, Kind.STRING
_CODES: Final = re.compile(r"(\d{3})(-(\d{3})?)?")
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class StatusError(ConnectError):
    """An answer that is no success."""

    def __init__(self, method: str, url: str, status: int, body: str) -> None:
        super().__init__(f"{method} {url} was answered with {status}: {body[:SHOWN]}")
        self.status = status


class _Passing(RetriableError):
    def __init__(self, error: Exception, delay_ms: float = 0) -> None:
        super().__init__(str(error))
        self.error, self.delay_ms = error, delay_ms


def _status_codes(name: str, value: Any) -> None:
    for each in value or []:
        if not _CODES.fullmatch(each):
            raise ConfigError(name, ",".join(value), "Codes and ranges of codes, such as 429,500-599,503-")


KEYS: Final = (
    ConfigKey(
        "auth.type", _TEXT, "NONE", _HIGH, "NONE, BASIC, BEARER or OAUTH2.",
        one_of("NONE", "BASIC", "BEARER", "OAUTH2", ignore_case=True),
    ),
    ConfigKey("connection.user", _TEXT, "", _MEDIUM, "The user, for BASIC."),
    ConfigKey("connection.password", Kind.PASSWORD, None, _MEDIUM, "The password, for BASIC."),
    ConfigKey("bearer.token", Kind.PASSWORD, None, _MEDIUM, "The token, for BEARER."),
    ConfigKey("oauth2.token.url", _TEXT, "", _MEDIUM, "Where a token is had, for OAUTH2."),
    ConfigKey("oauth2.client.id", _TEXT, "", _MEDIUM, "The client, for OAUTH2."),
    ConfigKey("oauth2.client.secret", Kind.PASSWORD, None, _MEDIUM, "Its secret."),
    ConfigKey("oauth2.client.scope", _TEXT, "any", _LOW, "The scope that is asked for."),
    ConfigKey("oauth2.token.property", _TEXT, "access_token", _LOW, "The token in the answer."),
    ConfigKey(
        "oauth2.client.auth.mode", _TEXT, "header", _LOW, "The client's credentials: header or url.",
        one_of("header", "url"),
    ),
    ConfigKey(
        "http.connect.timeout.ms", Kind.INT, 30_000, _LOW, "How long a connection may take.", at_least(1)
    ),
    ConfigKey(
        "http.request.timeout.ms", Kind.INT, 30_000, _LOW, "How long an answer may take.", at_least(1)
    ),
    ConfigKey(
        "retry.on.status.codes", Kind.LIST, ["400-"], _MEDIUM, "Answers after which it is tried again.",
        _status_codes,
    ),
    *retry_keys(10, 3000),
)  # fmt: skip
UNSUPPORTED: Final = {
    "https.ssl.": "The certificates of the machine are trusted.",
    "http.proxy.": "",
    "proxy.": "",
    "oauth2.client.header": "",
    "retry.backoff.policy": "Pauses grow by a factor of two.",
    "connection.disallow.": "",
}


def client_mistakes(config: Mapping[str, Any], refused: Mapping[str, str]) -> Mistakes:
    found = unsupported(config, {**UNSUPPORTED, **refused}) + missing("httpx")
    kind = str(config.get("auth.type") or "NONE").upper()
    needed = {
        "BASIC": ("connection.user", "connection.password"), "BEARER": ("bearer.token",),
        "OAUTH2": ("oauth2.token.url", "oauth2.client.id", "oauth2.client.secret"),
    }  # fmt: skip
    found += [(name, f"auth.type={kind} needs it") for name in needed.get(kind, ()) if not config.get(name)]
    return found + url_mistakes("oauth2.token.url", config.get("oauth2.token.url") or "")


def header_lines(name: str, text: str, separator: str) -> dict[str, str]:
    """`Name:value` with a separator between. ConfigError for what is no header."""
    found = {}
    for line in filter(None, (part.strip() for part in text.split(separator))):
        key, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(key.strip()) or "\n" in value or "\r" in value:
            raise ConfigError(name, "[hidden]", "It must be NAME:VALUE, with the separator between two")
        found[key.strip()] = value.strip()
    return found


class Requests:
    """For one task, in one thread."""

    def __init__(self, settings: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        require("httpx")
        import httpx

        self._settings, self._headers = settings, dict(headers)
        self._retries = Retries(settings["max.retries"], settings["retry.backoff.ms"])
        self._ranges = [_range(each) for each in settings["retry.on.status.codes"]]
        limit = httpx.Timeout(
            settings["http.request.timeout.ms"] / 1000, connect=settings["http.connect.timeout.ms"] / 1000
        )
        self._client = httpx.Client(timeout=limit, follow_redirects=False, trust_env=False)
        self._token = ""

    def send(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body of a good answer. StatusError for one that is not, RetriableError when there is none."""
        try:
            return self._retries.run(lambda: self._attempt(method, url, body, headers or {}, params))
        except _Passing as passing:
            if isinstance(passing.error, StatusError):
                raise passing.error from passing
            raise RetriableError(str(passing)) from passing

    def _attempt(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None,
    ) -> bytes:
        status, data, wait_ms = self._asked(
            method, url, body, {**self._headers, **headers, **self._credentials()}, params
        )
        if 200 <= status < 300:
            return data
        if status == 401:
            self._token = ""  # it may have run out
        error = StatusError(method, url, status, data.decode(errors="replace"))
        if any(first <= status <= last for first, last in self._ranges):
            raise _Passing(error, wait_ms)
        raise error

    def _asked(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes, float]:
        import httpx

        allowed_address(url)
        try:
            with self._client.stream(
                method, url, content=body, headers=dict(headers), params=dict(params) if params else None
            ) as answer:
                return answer.status_code, _bounded(answer), _retry_after_ms(answer.headers)
        except httpx.InvalidURL as error:
            raise ConnectError(f"{url} is no address: {error}") from error
        except httpx.HTTPError as error:
            raise _Passing(ConnectError(f"{method} {url}: {str(error) or type(error).__name__}")) from error

    def _credentials(self) -> dict[str, str]:
        match self._settings["auth.type"].upper():
            case "BASIC":
                both = f"{self._settings['connection.user']}:{self._settings['connection.password'] or ''}"
                return {"Authorization": "Basic " + base64.b64encode(both.encode()).decode()}
            case "BEARER":
                return {"Authorization": f"Bearer {self._settings['bearer.token'] or ''}"}
            case "OAUTH2":
                self._token = self._token or self._new_token()
                return {"Authorization": f"Bearer {self._token}"}
        return {}

    def _new_token(self) -> str:
        import json
        from urllib.parse import urlencode

        given = self._settings
        form = {"grant_type": "client_credentials", "scope": given["oauth2.client.scope"]}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        client, secret = given["oauth2.client.id"], given["oauth2.client.secret"] or ""
        if given["oauth2.client.auth.mode"] == "url":
            form |= {"client_id": client, "client_secret": secret}
        else:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{client}:{secret}".encode()).decode()
        url = given["oauth2.token.url"]
        status, data, _ = self._asked("POST", url, urlencode(form).encode(), headers)
        if status >= 500:
            raise _Passing(ConnectError(f"{url} gave no token, but {status}"))
        try:
            return str(json.loads(data)[given["oauth2.token.property"]])
        except (ValueError, KeyError, TypeError):
            raise ConnectError(f"{url} gave no token, but {status}") from None

    def close(self) -> None:
        self._client.close()


def _bounded(answer: Any) -> bytes:
    parts, size = [], 0
    for part in answer.iter_bytes():
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise ConnectError(f"an answer is larger than {ANSWER_BYTES_MAX} bytes")
        parts.append(part)
    return b"".join(parts)


def _retry_after_ms(headers: Mapping[str, str]) -> float:
    given = headers.get("Retry-After", "")
    return min(int(given), 60) * 1000 if given.isdigit() else 0


def _range(text: str) -> tuple[int, int]:
    found = _CODES.fullmatch(text)
    assert found is not None
    first = int(found[1])
    return first, int(found[3]) if found[3] else 599 if found[2] else first
