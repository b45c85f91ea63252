"""Where schemas come from: what formats with schemas ask a Schema Registry, as an interface.

`penstock.client.schema_registry.SchemaRegistry` has these methods, and so does `MemorySchemas`, which keeps
schemas in this process: for tests and for scripts that run without a registry.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.client.schema_registry import NotRegistered, Schema, Version

NOT_FOUND: Final = 404
SUBJECT_NOT_FOUND: Final = 40401
SCHEMA_NOT_FOUND: Final = 40403


class Schemas(Protocol):
    def by_id(self, schema_id: int) -> Schema: ...

    def latest(self, subject: str) -> Version:
        """`NotRegistered` where there is none."""
        ...

    def register(self, subject: str, schema: Schema) -> int:
        """The id; a schema that is there already keeps its own."""
        ...


class MemorySchemas:
    """A registry within this process. Equal schemas have one id, whatever their subjects."""

    def __init__(self) -> None:
        self._by_id: dict[int, Schema] = {}
        self._subjects: dict[str, list[int]] = {}

    def by_id(self, schema_id: int) -> Schema:
        if schema_id not in self._by_id:
            raise NotRegistered(
                f"Schema {schema_id} not found", NOT_FOUND, SCHEMA_NOT_FOUND, f"Schema {schema_id} not found"
            )
        return self._by_id[schema_id]

    def latest(self, subject: str) -> Version:
        ids = self._subjects.get(subject)
        if not ids:
            message = f"Subject '{subject}' not found."
            raise NotRegistered(message, NOT_FOUND, SUBJECT_NOT_FOUND, message)
        return Version(subject, len(ids), ids[-1], self._by_id[ids[-1]])

    def register(self, subject: str, schema: Schema, schema_id: int | None = None) -> int:
        """`schema_id` gives a new schema an id of the caller's choice."""
        known = next((key for key, each in self._by_id.items() if each == schema), None)
        found = schema_id or known or max(self._by_id, default=0) + 1
        self._by_id[found] = schema
        ids = self._subjects.setdefault(subject, [])
        if found not in ids:
            ids.append(found)
        return found

    @property
    def subjects(self) -> list[str]:
        return list(self._subjects)


def subject_of(topic: str, *, is_key: bool) -> str:
    return f"{topic}-{'key' if is_key else 'value'}"
