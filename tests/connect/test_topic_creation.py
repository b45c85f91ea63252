"""Groups of settings for the topics of a source."""

from __future__ import annotations

import pytest

from penstock.connect.errors import ConfigError
from penstock.connect.pipeline.topic_creation import NewTopic, TopicRules

DEFAULTS = {
    "topic.creation.default.partitions": "3",
    "topic.creation.default.replication.factor": "-1",
    "topic.creation.default.retention.ms": "1000",
}


def test_without_both_defaults_topics_are_left_to_the_broker() -> None:
    assert TopicRules.of({}) is None
    assert TopicRules.of({"topic.creation.default.partitions": "3"}) is None


def test_the_first_group_that_includes_a_topic_counts_and_the_default_has_the_rest() -> None:
    rules = TopicRules.of(
        {
            **DEFAULTS,
            "topic.creation.groups": "tables, all",
            "topic.creation.tables.include": "db\\..*, more",
            "topic.creation.tables.exclude": "db\\.log",
            "topic.creation.tables.cleanup.policy": "compact",
            "topic.creation.all.include": "db.*",
            "topic.creation.all.partitions": "7",
            "topic.creation.all.replication.factor": "2",
        }
    )
    assert rules is not None
    compacted = NewTopic(3, None, {"cleanup.policy": "compact"})
    assert [rules.topic(name) for name in ("db.users", "more")] == [compacted, compacted]
    assert rules.topic("db.log") == NewTopic(7, 2, {})
    assert rules.topic("other") == NewTopic(3, None, {"retention.ms": "1000"})


@pytest.mark.parametrize(
    ("wrong", "setting"),
    [
        ({"topic.creation.default.partitions": "0"}, "default.partitions"),
        ({"topic.creation.default.replication.factor": "many"}, "default.replication.factor"),
        ({"topic.creation.groups": "g"}, "g.include"),
        ({"topic.creation.groups": "g", "topic.creation.g.include": "("}, "g.include"),
    ],
)
def test_what_means_nothing_is_named(wrong: dict[str, str], setting: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TopicRules.of({**DEFAULTS, **wrong})
    assert refused.value.name == f"topic.creation.{setting}"
