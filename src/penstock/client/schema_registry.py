"""A client of any registry with Confluent's paths, for readers and writers of records with schemas.

Answers that can never change (a schema by its id, a version of a subject) are kept, `KEPT` of them; what is
latest is asked each time. Every call has a deadline and every answer a bound. Compatibility, deleting and
settings are for people, and for other clients.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from urllib.error import HTTPError

SECONDS: Final = 10.0
ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
KEPT: Final = 1000
_JSON: Final = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND: Final = 404
_AVRO: Final = "AVRO"


class RegistryError(RuntimeError):
    """What was asked of the registry could not be had; the message says of which, and what to do."""


class NotRegistered(RegistryError):
    """There is no such schema, subject or version."""


@dataclass(frozen=True)
class Schema:
    """A schema with the texts of all that it refers to, those first that others need."""

    schema_type: str
    """AVRO, JSON or PROTOBUF."""
    text: str
    references: tuple[tuple[str, str], ...] = ()
    """Name and text of each."""


class SchemaRegistry:
    """One registry behind addresses with commas between them; the first that answers is asked."""

    def __init__(self, urls: str, *, timeout_seconds: float = SECONDS) -> None:
        self.urls = tuple(url.strip().rstrip("/") for url in urls.split(",") if url.strip())
        if not self.urls:
            raise ValueError("no address of a schema registry: write it as http://localhost:8081")
        for url in self.urls:
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"{url!r} is no address of a schema registry: write http://host:port")
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Any] = OrderedDict()

    def by_id(self, schema_id: int) -> Schema:
        return self._schema(self._unchanging(f"/schemas/ids/{schema_id}", f"schema {schema_id}"))

    def version(self, subject: str, version: int) -> Schema:
        return self._schema(self._version(subject, version))

    def latest(self, subject: str) -> tuple[int, Schema]:
        """The id of the subject's latest version, and the schema."""
        path = f"/subjects/{_quoted(subject)}/versions/latest"
        answer = self._ask("GET", path, f"subject {subject!r}")
        return int(answer["id"]), self._schema(answer)

    def register(self, subject: str, schema: Schema) -> int:
        """The id of the schema under the subject; the registry knows when it is there already."""
        if schema.references:
            raise RegistryError("a schema with references is registered by its owner, not by who writes rows")
        body = {"schema": schema.text}
        if schema.schema_type != _AVRO:
            body["schemaType"] = schema.schema_type
        path = f"/subjects/{_quoted(subject)}/versions"
        return int(self._ask("POST", path, f"registering under {subject!r}", body)["id"])

    def ask(self, method: str, path: str, what: str, body: Any = None) -> Any:
        """Any other request; `what` is what it is about, for the sentence that says why it failed."""
        return self._ask(method, path, what, body)

    def _version(self, subject: str, version: int) -> Any:
        return self._unchanging(
            f"/subjects/{_quoted(subject)}/versions/{version}", f"version {version} of subject {subject!r}"
        )

    def _schema(self, answer: Any) -> Schema:
        found: dict[str, str] = {}
        self._gather(answer, found)
        return Schema(answer.get("schemaType", _AVRO), answer["schema"], tuple(found.items()))

    def _gather(self, answer: Any, found: dict[str, str]) -> None:
        """Put what `answer` refers to into `found`, and before each what it refers to itself."""
        for reference in answer.get("references") or ():
            if reference["name"] not in found:
                referred = self._version(reference["subject"], reference["version"])
                self._gather(referred, found)
                found[reference["name"]] = referred["schema"]

    def _unchanging(self, path: str, what: str) -> Any:
        with self._lock:
            if path in self._kept:
                self._kept.move_to_end(path)
                return self._kept[path]
        answer = self._ask("GET", path, what)
        with self._lock:
            self._kept[path] = answer
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return answer

    def _ask(self, method: str, path: str, what: str, body: Any = None) -> Any:
        from urllib.error import (
            HTTPError,  # with urllib.request, below, a tenth of a second: only who asks pays
        )

        failures = []
        for url in self.urls:
            try:
                return self._ask_one(method, url + path, body)
            except HTTPError as error:
                said = _said(error)
                if error.code == _NOT_FOUND:
                    raise NotRegistered(f"{what} is not in the registry at {url} ({said})") from None
                raise RegistryError(f"{what}: the registry at {url} says {error.code}: {said}") from None
            except (OSError, ValueError) as error:
                failures.append(f"{url}: {getattr(error, 'reason', error)}")
        raise RegistryError(
            f"{what}: no registry answers ({'; '.join(failures)}): is schema.registry.url right?"
        )

    def _ask_one(self, method: str, url: str, body: Any) -> Any:
        from urllib.request import Request, urlopen

        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": _JSON, "Content-Type": _JSON}
        request = Request(url, data, headers, method=method)
        with urlopen(request, timeout=self._timeout_seconds) as answer:
            text = answer.read(ANSWER_BYTES_MAX + 1)
        if len(text) > ANSWER_BYTES_MAX:
            raise ValueError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
        return json.loads(text)


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _said(error: HTTPError) -> str:
    text = error.read(4096).decode(errors="replace")
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.strip() or error.reason
