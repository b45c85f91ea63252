"""Which schema a codec writes with: the one that a property names by id, or one of its columns, registered
under the subject of the topic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.client.schema_registry import Schema
from penstock.sql.serdes.schemas import Schemas, subject_of


@dataclass
class Registration:
    schemas: Schemas
    schema: Schema
    """What is registered, unless `fixed_id` is given."""
    is_key: bool
    fixed_id: int | None = None
    _ids: dict[str, int] = field(default_factory=dict)

    def id_for(self, topic: str) -> int:
        """Asks the registry once for each topic."""
        if self.fixed_id is not None:
            return self.fixed_id
        known = self._ids.get(topic)
        if known is None:
            subject = subject_of(topic, is_key=self.is_key)
            known = self._ids[topic] = self.schemas.register(subject, self.schema)
        return known
