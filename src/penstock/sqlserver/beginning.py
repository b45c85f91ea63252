"""Where a new query begins: at the ends that its topics have when it is made, not when Spark is up, or where
START AT says.

The offsets become committed offsets of the query's group, which its application goes on from.
"""

from __future__ import annotations

from penstock.client.groups import Groups
from penstock.plan.plan import Plan
from penstock.sql import statements as s
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.starting import begin_offsets


def begin(server: SqlServer, query_id: str, plan: Plan, start: s.StartAt | None, reset: str) -> None:
    """Sources that say themselves where they begin, such as tables, are left alone."""
    topics = {
        topic
        for _, source in plan.sources
        if source.reset is None
        for topic in source.topics
        if topic not in plan.internal_names
    }
    known = server.topics.all()
    ends = begin_offsets(server.admin, tuple(sorted(topics & known.keys())), start, reset)
    Groups(server.admin).set_offsets(server.settings.application_id(query_id), ends)
