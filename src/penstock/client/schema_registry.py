"""The client of any Schema Registry with Confluent's paths. Every part of Penstock that reads or writes
records with schemas uses this one: Spark, Streams, the REST Proxy and the command line.

Answers that can never change (a schema by its id, a version of a subject, the version that has a text) are
kept, `KEPT` of them; the latest version is asked for each time. Every call has a deadline and every answer a
bound. Blocking.

    RegistryError           the registry did not give what was asked for; the text is a sentence
    ├── NotRegistered       it has no such schema, subject or version
    ├── RegistryRefused     it refused, with a status, a code and a message
    └── NoRegistryAnswers   none of the addresses answers
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit

from penstock.client.answers_kept import AnswersKept

if TYPE_CHECKING:
    from ssl import SSLContext
    from urllib.error import HTTPError

    from penstock.security.client_settings import Tls

SECONDS: Final = 10.0
ANSWER_BYTES_MAX: Final = 10 * 1024 * 1024
KEPT: Final = 1000
REFERENCES_MAX: Final = 1000
"""Schemas that one schema may refer to, and those in turn."""
_JSON: Final = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND: Final = 404
_SERVER_ERROR: Final = 500
_AVRO: Final = "AVRO"
_NORMALIZED: Final = "?normalize=true"


class RegistryError(RuntimeError):
    """What was asked of the registry could not be had; the message names it and says what to do."""


class RegistryRefused(RegistryError):
    """`status` is HTTP's, `code` Confluent's, and `message` are the registry's own words."""

    def __init__(self, sentence: str, status: int, code: int, message: str) -> None:
        super().__init__(sentence)
        self.status, self.code, self.message = status, code, message


class NotRegistered(RegistryRefused):
    """There is no such schema, subject or version."""


class NoRegistryAnswers(RegistryError):
    """No address answered, or each answered that it is broken."""


class Reference(NamedTuple):
    """A version of a subject that a schema refers to, under a name of the schema's own."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class Schema:
    """A schema with the texts of all that it refers to, those first that others need."""

    schema_type: str
    """AVRO, JSON or PROTOBUF."""
    text: str
    references: tuple[tuple[str, str], ...] = ()
    """Name and text of each, of indirect ones too."""
    refers_to: tuple[Reference, ...] = field(default=(), compare=False)
    """The direct ones, as they are registered."""
    metadata: Any = field(default=None, compare=False, repr=False)
    rule_set: Any = field(default=None, compare=False, repr=False)
    """The data contract of a schema that the registry gave, as JSON; None for most."""


@dataclass(frozen=True)
class Version:
    """A schema under a subject."""

    subject: str
    version: int
    schema_id: int
    schema: Schema


class SchemaRegistry:
    """One registry behind addresses with commas between them; the first that answers is asked."""

    def __init__(
        self,
        urls: str,
        *,
        timeout_seconds: float = SECONDS,
        authorization: str = "",
        tls: Tls | None = None,
    ) -> None:
        """`authorization` is the header of that name; empty for none, or for the name and the password that
        stand in an address. `tls` is how to speak to `https:`; None trusts whom the system trusts."""
        given = [url.strip().rstrip("/") for url in urls.split(",") if url.strip()]
        self.urls = tuple(without_password(url) for url in given)
        if not self.urls:
            raise ValueError("no address of a schema registry: write it as http://localhost:8081")
        for url in self.urls:
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"{url!r} is no address of a schema registry: write http://host:port")
        self._timeout_seconds = timeout_seconds
        self._authorization = authorization or next(filter(None, map(authorization_in, given)), "")
        self._tls = tls
        self._kept = AnswersKept(KEPT)

    def by_id(self, schema_id: int) -> Schema:
        return self._kept.get(
            schema_id,
            lambda: self._schema(self.ask("GET", f"/schemas/ids/{schema_id}", f"schema {schema_id}")),
        )

    def version(self, subject: str, version: int) -> Version:
        path = f"/subjects/{_quoted(subject)}/versions/{version}"
        what = f"version {version} of subject {subject!r}"
        return self._kept.get(path, lambda: self._version(subject, self.ask("GET", path, what)))

    def latest(self, subject: str) -> Version:
        path = f"/subjects/{_quoted(subject)}/versions/latest"
        return self._version(subject, self.ask("GET", path, f"subject {subject!r}"))

    def latest_with(self, subject: str, properties: Mapping[str, str]) -> Version:
        """The latest version whose metadata has these properties."""
        query = urlencode(
            [pair for each in properties.items() for pair in zip(("key", "value"), each, strict=True)]
        )
        path = f"/subjects/{_quoted(subject)}/metadata?{query}"
        return self._version(subject, self.ask("GET", path, f"subject {subject!r} with {dict(properties)}"))

    def number_of(self, subject: str, schema_id: int) -> int | None:
        """The version that a schema is under a subject; None where it is not there."""
        path = f"/schemas/ids/{schema_id}/versions?deleted=true"

        def find() -> int | None:
            found = self.ask("GET", path, f"schema {schema_id}")
            return max((int(each["version"]) for each in found if each["subject"] == subject), default=None)

        return self._kept.get((subject, schema_id), find)

    def look_up(self, subject: str, schema: Schema, *, normalize: bool = False) -> Version:
        """The version of the subject that has this very schema; NotRegistered when there is none."""

        def find() -> Version:
            what = f"this schema under subject {subject!r}"
            path = f"/subjects/{_quoted(subject)}{_NORMALIZED if normalize else ''}"
            found = self.ask("POST", path, what, _body(schema))
            return Version(subject, int(found["version"]), int(found["id"]), schema)

        return self._kept.get((subject, schema, normalize), find)

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> int:
        """The id of the schema under the subject; the registry knows when it is there already."""
        path = f"/subjects/{_quoted(subject)}/versions{_NORMALIZED if normalize else ''}"
        return int(self.ask("POST", path, f"registering under {subject!r}", _body(schema))["id"])

    def ask(self, method: str, path: str, what: str, body: Any = None) -> Any:
        """Any request. `what` names its object in the sentence that says why it failed."""
        from urllib.error import HTTPError  # costs a tenth of a second with urllib.request, below

        failures = []
        for url in self.urls:
            try:
                return self._ask_one(method, url + path, body)
            except HTTPError as error:
                refusal = _refusal(error, url, what)
                if error.code < _SERVER_ERROR:
                    raise refusal from None
                failures.append(f"{url}: {error.code} {refusal.message}")
            except (OSError, ValueError) as error:
                failures.append(f"{url}: {getattr(error, 'reason', error)}")
        raise NoRegistryAnswers(
            f"{what}: no registry answers ({'; '.join(failures)}): is schema.registry.url right?"
        )

    def _version(self, subject: str, answer: Any) -> Version:
        schema = self._schema(answer)
        return Version(subject, int(answer["version"]), int(answer["id"]), schema)

    def _schema(self, answer: Any) -> Schema:
        direct = tuple(_references(answer))
        found: dict[str, str] = {}
        self._gather(direct, found)
        return Schema(
            answer.get("schemaType") or _AVRO,
            answer["schema"],
            tuple(found.items()),
            direct,
            answer.get("metadata"),
            answer.get("ruleSet"),
        )

    def _gather(self, references: Iterable[Reference], found: dict[str, str]) -> None:
        """Puts the texts of references into `found`, and before each the texts that it refers to."""
        for name, subject, version in references:
            if name in found:
                continue
            if len(found) >= REFERENCES_MAX:
                raise RegistryError(f"a schema that refers to more than {REFERENCES_MAX} others is not read")
            referred = self.version(subject, version).schema
            for each, text in referred.references:
                found.setdefault(each, text)
            found[name] = referred.text

    def _ask_one(self, method: str, url: str, body: Any) -> Any:
        from urllib.request import Request

        from penstock.wire.direct_http import open_direct

        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": _JSON, "Content-Type": _JSON}
        if self._authorization:
            headers["Authorization"] = self._authorization
        request = Request(url, data, headers, method=method)
        with open_direct(request, self._timeout_seconds, self._context(url)) as answer:
            text = answer.read(ANSWER_BYTES_MAX + 1)
        if len(text) > ANSWER_BYTES_MAX:
            raise ValueError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
        return json.loads(text) if text else None

    def _context(self, url: str) -> SSLContext | None:
        if self._tls is None or not url.startswith("https://"):
            return None
        from penstock.wire.tls import client_context

        return client_context(self._tls)


def basic(name: str, password: str) -> str:
    """The header for a name and a password."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def authorization_in(url: str) -> str:
    """The header that stands as `user:password@` in an address; empty when none does."""
    userinfo, at, _ = urlsplit(url).netloc.rpartition("@")
    name, _, password = userinfo.partition(":")
    return basic(unquote(name), unquote(password)) if at else ""


def without_password(url: str) -> str:
    """The address as it may be shown."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _references(answer: Any) -> list[Reference]:
    found = answer.get("references") or ()
    return [Reference(each["name"], each["subject"], each["version"]) for each in found]


def _body(schema: Schema) -> dict[str, Any]:
    if schema.references and not schema.refers_to:
        raise RegistryError("a schema is registered with subjects and versions of what it refers to")
    body: dict[str, Any] = {"schema": schema.text}
    if schema.schema_type != _AVRO:
        body["schemaType"] = schema.schema_type
    if schema.refers_to:
        body["references"] = [each._asdict() for each in schema.refers_to]
    return body


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _refusal(error: HTTPError, url: str, what: str) -> RegistryRefused:
    text = error.read(4096).decode(errors="replace")
    try:
        told = json.loads(text)
        message, code = str(told["message"]), int(told["error_code"])
    except (ValueError, KeyError, TypeError):
        message, code = text.strip() or str(error.reason), error.code
    if error.code == _NOT_FOUND:
        return NotRegistered(f"{what} is not in the registry at {url} ({message})", error.code, code, message)
    sentence = f"{what}: the registry at {url} says {error.code}: {message}"
    return RegistryRefused(sentence, error.code, code, message)
