"""What the console asks of the Schema Registry, and how two schemas differ for a reader."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.console.rest_service import RestService, ServiceRefused

LATEST_MAX = 5_000
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    subject: str
    version: int
    schema_id: int
    schema_type: str
    text: str
    references: tuple[str, ...] = ()
    """As `name = subject, version 2`."""

    @property
    def pretty(self) -> str:
        """Laid out over lines. Protobuf already is."""
        try:
            return json.dumps(json.loads(self.text), indent=2, ensure_ascii=False)
        except ValueError:
            return self.text

    @property
    def topic(self) -> str:
        """The topic that the subject is named after, by Confluent's default strategy; else nothing."""
        for ending in ("-value", "-key"):
            if self.subject.endswith(ending):
                return self.subject.removesuffix(ending)
        return ""


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    versions: tuple[SchemaVersion, ...]
    """Oldest first."""
    level: str
    own_level: bool
    """False when the level is the registry's."""
    referenced_by: tuple[int, ...]
    """Ids of schemas that refer to the latest version."""


class Verdict(NamedTuple):
    compatible: bool
    reasons: tuple[str, ...]


class DiffLine(NamedTuple):
    kind: str
    """`added`, `removed` or `kept`."""
    text: str


class SchemaCatalogue:
    def __init__(self, service: RestService) -> None:
        self.service = service

    async def latest(self) -> list[SchemaVersion]:
        """The latest version of every subject, from one request."""
        query = {"latestOnly": "true", "limit": str(LATEST_MAX)}
        found = await self.service.ask("GET", "schemas", query=query)
        return sorted((_version(each) for each in found), key=lambda each: each.subject)

    async def subject(self, name: str) -> Subject:
        numbers = await self.service.ask("GET", "subjects", name, "versions")
        versions = tuple([await self.version(name, number) for number in numbers])
        try:
            config, own = await self.service.ask("GET", "config", name), True
        except ServiceRefused as error:
            if error.status != _NOT_FOUND:
                raise
            config, own = await self.service.ask("GET", "config"), False
        path = ("subjects", name, "versions", str(numbers[-1]), "referencedby")
        referenced = await self.service.ask("GET", *path)
        return Subject(name, versions, config["compatibilityLevel"], own, tuple(referenced))

    async def version(self, name: str, number: int) -> SchemaVersion:
        return _version(await self.service.ask("GET", "subjects", name, "versions", str(number)))

    async def check(self, name: str, schema_type: str, text: str) -> Verdict:
        path = ("compatibility", "subjects", name, "versions")
        body = _body(schema_type, text)
        found = await self.service.ask("POST", *path, body=body, query={"verbose": "true"})
        return Verdict(bool(found["is_compatible"]), tuple(found.get("messages") or ()))

    async def register(self, name: str, schema_type: str, text: str) -> int:
        """The id of the schema."""
        body = _body(schema_type, text)
        return int((await self.service.ask("POST", "subjects", name, "versions", body=body))["id"])

    async def set_level(self, name: str, level: str) -> None:
        await self.service.ask("PUT", "config", name, body={"compatibility": level})

    async def delete(self, name: str) -> None:
        await self.service.ask("DELETE", "subjects", name)


def difference(older: str, newer: str) -> list[DiffLine]:
    """Line by line, with everything that stayed."""
    kinds = {"+ ": "added", "- ": "removed", "  ": "kept"}
    lines = difflib.ndiff(older.splitlines(), newer.splitlines())
    return [DiffLine(kinds[line[:2]], line[2:]) for line in lines if line[:2] in kinds]


def _version(found: dict[str, Any]) -> SchemaVersion:
    references = tuple(
        f"{each['name']} = {each['subject']}, version {each['version']}"
        for each in found.get("references") or ()
    )
    kind = found.get("schemaType") or "AVRO"
    return SchemaVersion(
        found["subject"], int(found["version"]), int(found["id"]), kind, found["schema"], references
    )


def _body(schema_type: str, text: str) -> dict[str, str]:
    return {"schema": text} if schema_type == "AVRO" else {"schema": text, "schemaType": schema_type}
