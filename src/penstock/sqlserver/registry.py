"""A Schema Registry as data: plans travel to Spark's workers, and each process opens its own client."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from penstock.client.registry_access import RegistryAccess
from penstock.client.schema_registry import Schema, SchemaRegistry, Version


@lru_cache(maxsize=16)
def _client(url: str, access: RegistryAccess) -> SchemaRegistry:
    return SchemaRegistry(url, authorization=access.authorization, tls=access.tls)


@dataclass(frozen=True)
class RegistryAt:
    """`url` may be several with commas between them."""

    url: str
    access: RegistryAccess = field(default_factory=RegistryAccess)

    def by_id(self, schema_id: int) -> Schema:
        return _client(self.url, self.access).by_id(schema_id)

    def latest(self, subject: str) -> Version:
        return _client(self.url, self.access).latest(subject)

    def register(self, subject: str, schema: Schema) -> int:
        return _client(self.url, self.access).register(subject, schema)
