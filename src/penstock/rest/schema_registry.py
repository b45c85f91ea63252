"""`SchemaRegistry`: the proxy's client of a Schema Registry, and the schemas it has seen, by id.

Blocking, with a deadline; a schema never changes under its id, so what was seen is kept, a bounded number
of it. How values are written by a schema is `codecs`' business. Called by `schema_records` in a thread.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from penstock.rest.config import SCHEMAS_CACHED
from penstock.rest.errors import (
    INVALID_SCHEMA,
    SCHEMA_REGISTRY_FAILED,
    SERIALISATION_FAILED,
    RestError,
)

MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
ANSWER_BYTES_MAX: Final = 10 * 1024 * 1024
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as the registry gives it; `references` are those of it and of all it refers to, by name."""

    kind: str
    """AVRO, JSON or PROTOBUF."""
    text: str
    references: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A schema under a subject."""

    subject: str
    schema_id: int
    version: int
    schema: SchemaText


class Cached:
    """Answers by question, the oldest dropped first. Several threads may use it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any, find: Callable[[], T]) -> T:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                known: T = self._found[key]
                return known
        found = find()  # two threads may ask the same at once; they hear the same
        with self._lock:
            self._found[key] = found
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return found


class SchemaRegistry:
    def __init__(self, url: str, timeout_s: float) -> None:
        self._urls = [part.strip().rstrip("/") for part in url.split(",") if part.strip()]
        self._timeout_s = timeout_s
        self._cached = Cached(SCHEMAS_CACHED)

    def by_id(self, schema_id: int) -> SchemaText:
        return self._cached.get(("id", schema_id), lambda: self._read(self._ask(f"/schemas/ids/{schema_id}")))

    def by_version(self, subject: str, version: int | str) -> Version:
        """`latest` is asked anew each time: it changes."""
        if version == "latest":
            return self._version(self._ask(f"/subjects/{_quoted(subject)}/versions/latest"))
        path = f"/subjects/{_quoted(subject)}/versions/{version}"
        return self._cached.get((subject, version), lambda: self._version(self._ask(path)))

    def version_of(self, subject: str, schema: SchemaText) -> Version:
        """The version under which the subject has this very schema; 422 when it has not."""
        return self._cached.get((subject, schema), lambda: self._look_up(subject, schema))

    def register(self, subject: str, schema: SchemaText) -> Version:
        """The schema's version, which is made when the subject does not have it yet."""

        def find() -> Version:
            try:
                return self._look_up(subject, schema)
            except NotRegistered:
                self._ask(f"/subjects/{_quoted(subject)}/versions", _body(schema))
                return self._look_up(subject, schema)

        return self._cached.get((subject, schema), find)

    def _look_up(self, subject: str, schema: SchemaText) -> Version:
        found = self._ask(f"/subjects/{_quoted(subject)}", _body(schema))
        return Version(subject, found["id"], found["version"], schema)

    def _version(self, found: dict[str, Any]) -> Version:
        return Version(found["subject"], found["id"], found["version"], self._read(found))

    def _read(self, found: dict[str, Any]) -> SchemaText:
        seen: dict[str, str] = {}
        self._gather(found.get("references") or [], seen)
        return SchemaText(found.get("schemaType", "AVRO"), found["schema"], tuple(seen.items()))

    def _gather(self, references: list[dict[str, Any]], seen: dict[str, str]) -> None:
        """What is referred to comes before what refers to it. The registry holds no circles."""
        for reference in references:
            if reference["name"] not in seen and len(seen) < SCHEMAS_CACHED:
                path = f"/subjects/{_quoted(reference['subject'])}/versions/{reference['version']}"
                found = self._ask(path)
                self._gather(found.get("references") or [], seen)
                seen[reference["name"]] = found["schema"]

    def _ask(self, path: str, body: bytes | None = None) -> Any:
        if not self._urls:
            raise RestError(
                SERIALISATION_FAILED,
                "Error serializing message. This proxy knows no Schema Registry: set schema.registry.url.",
            )
        for url in self._urls:
            request = urllib.request.Request(url + path, body, {"Content-Type": MEDIA_TYPE})
            try:
                with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:
                    return json.loads(answer.read(ANSWER_BYTES_MAX))
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    raise _refused(path, error) from None
            except (OSError, ValueError):  # the next one may answer
                continue
        raise RestError(
            SCHEMA_REGISTRY_FAILED,
            f"Schema registration or lookup failed: no Schema Registry answered at {', '.join(self._urls)}.",
        )


class NotRegistered(RestError):
    """The registry does not have it."""


def _refused(path: str, error: urllib.error.HTTPError) -> RestError:
    try:
        told = json.loads(error.read(ANSWER_BYTES_MAX))
        message, code = str(told["message"]), int(told["error_code"])
    except (OSError, ValueError, KeyError, TypeError):
        message, code = error.reason, error.code
    if error.code == 404:
        return NotRegistered(SERIALISATION_FAILED, f"Error serializing message. {path}: {message} ({code})")
    if error.code == 409:
        return RestError(SERIALISATION_FAILED, f"Error serializing message. {message} ({code})")
    if error.code == 422:
        return RestError(INVALID_SCHEMA, f"Invalid schema: {message} ({code})")
    return RestError(SCHEMA_REGISTRY_FAILED, f"Schema registration or lookup failed: {message} ({code})")


def _body(schema: SchemaText) -> bytes:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.kind != "AVRO":
        body["schemaType"] = schema.kind
    return json.dumps(body).encode()


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")
