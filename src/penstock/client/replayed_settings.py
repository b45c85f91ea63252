"""What a replayed topic needs to know, and the topic itself: made when it is missing, refused when records
would be lost in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from penstock.client.admin import Admin
from penstock.client.errors import TopicExists, UnfitTopic

COMPACTION_LAG_MS: Final = 60_000
"""Records of decisions that lost are restored long before compaction may look at them."""


@dataclass(frozen=True, slots=True)
class ReplayedTopicSettings:
    bootstrap_servers: str
    topic: str
    replication_factor: int = 3
    """At most; fewer where there are fewer brokers. Only for a topic that is made here."""
    timeout_s: float = 10.0
    """How long one write may take, until it is read back."""
    start_timeout_s: float = 60.0
    """How long reading everything may take at the start."""
    record_bytes_max: int = 1_000_000
    client: Mapping[str, str] = field(default_factory=dict)
    """Further settings of librdkafka."""


def ensure_topic(settings: ReplayedTopicSettings) -> tuple[int, int]:
    """Where the log starts and ends. Raises UnfitTopic when the topic is not compacted or has several
    partitions.
    """
    admin = Admin(settings.bootstrap_servers, timeout_s=settings.timeout_s, settings=settings.client)
    name = settings.topic
    cluster, topics = admin.describe()
    if all(topic.name != name for topic in topics):
        replicas = min(settings.replication_factor, max(1, len(cluster.brokers)))
        configs = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(COMPACTION_LAG_MS)}
        with suppress(TopicExists):  # another process may be faster
            admin.create_topic(name, 1, replicas, configs)
    policy = next((each.value for each in admin.configs(name) if each.name == "cleanup.policy"), "") or ""
    partitions = len(admin.topic(name).partitions)
    if "compact" not in policy or "delete" in policy or partitions != 1:
        raise UnfitTopic(name, policy, partitions)
    at = (name, 0)
    return admin.start_offsets([at]).get(at, 0), end_of(admin, settings)


def end_of(admin: Admin, settings: ReplayedTopicSettings) -> int:
    """Where the log ends now."""
    at = (settings.topic, 0)
    return admin.end_offsets([at]).get(at, 0)
