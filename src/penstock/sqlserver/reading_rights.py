"""Whether a caller may read or write the topics that a query or a row is about, by the cluster's entries.

A server whose door asks nobody has no `Rights`, and everything is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.security.operations import Operation, ResourceType
from penstock.sql import statements as s
from penstock.sql.sources import Catalogue
from penstock.sqlserver.errors import KsqlError
from penstock.web import Caller
from penstock.web.rights import Rights

FORBIDDEN: Final = 40301


def topics_read(node: s.Query | s.PrintTopic, catalogue: Catalogue) -> set[str]:
    """The topics whose records a caller would see. A source that is not there is the analysis' to refuse."""
    if isinstance(node, s.PrintTopic):
        return {node.topic}
    found: set[str] = set()
    for source in (node.source, *(join.right for join in node.joins)):
        if source.query is not None:
            found |= topics_read(source.query, catalogue)
        elif source.name in catalogue.sources:
            found.add(catalogue.sources[source.name].topic)
    for other in node.union:
        found |= topics_read(other, catalogue)
    return found


async def check_topics(
    rights: Rights | None, caller: Caller, operation: Operation, topics: Iterable[str]
) -> None:
    """KsqlError in ksqlDB's words when the caller may not."""
    if rights is None:
        return
    for topic in sorted(topics):
        if not await rights.may(caller, operation, ResourceType.TOPIC, topic, "SQL"):
            raise KsqlError(
                f"Authorization denied to {operation.name.title()} on topic(s): [{topic}]", FORBIDDEN
            )
