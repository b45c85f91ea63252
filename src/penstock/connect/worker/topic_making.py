"""Topics of a source made before their first record, as its settings say. Runs inside Spark's tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from penstock.connect.pipeline.topic_creation import TopicRules

Make = Callable[[set[str]], None]
"""Makes those topics that are not there; they are there on return."""


def topic_maker(config: Mapping[str, str], servers: str, librdkafka: Mapping[str, Any]) -> Make:
    """For one task. Without such settings it does nothing: the broker makes topics, or does not."""
    rules = TopicRules.of(config)
    made: set[str] = set()

    def make(names: set[str]) -> None:
        if rules is None or names <= made:
            return
        from penstock.client.admin import Admin
        from penstock.client.errors import TopicExists

        admin = Admin(servers, settings=dict(librdkafka))
        there = {topic.name for topic in admin.describe()[1]}
        for name in names - made - there:
            topic = rules.topic(name)
            with suppress(TopicExists):  # another task was faster
                admin.create_topic(name, topic.partitions, topic.replicas, topic.configs)
        made.update(names)

    return make
