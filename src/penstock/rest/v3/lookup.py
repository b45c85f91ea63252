"""Finding what a path of version 3 names: the cluster, a broker, a topic, a partition. 404 when it is not
there.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.client.metadata import BrokerInfo, ClusterInfo, PartitionInfo, TopicInfo
from penstock.rest.errors import (
    PARTITION_NOT_FOUND,
    UNKNOWN_TOPIC_OR_PARTITION,
    RestError,
    partition_not_found,
)
from penstock.rest.proxy import Proxy
from penstock.rest.v3.links import Links
from penstock.web import Call


@dataclass(frozen=True, slots=True)
class View:
    """The cluster as it is now, and links to it."""

    links: Links
    info: ClusterInfo
    topics: list[TopicInfo]

    def topic(self, name: str) -> TopicInfo:
        found = next((topic for topic in self.topics if topic.name == name), None)
        if found is None:
            raise RestError(
                UNKNOWN_TOPIC_OR_PARTITION,
                f"This server does not host this topic-partition: there is no topic named {name!r:.250}.",
            )
        return found

    def partition(self, topic: TopicInfo, text: str) -> PartitionInfo:
        index = number(text, PARTITION_NOT_FOUND, "partition")
        found = next((each for each in topic.partitions if each.index == index), None)
        if found is None:
            raise partition_not_found(topic.name, index)
        return found

    def broker(self, text: str) -> BrokerInfo:
        node_id = number(text, 404, "broker")
        found = next((each for each in self.info.brokers if each.node_id == node_id), None)
        if found is None:
            raise RestError(404, f"HTTP 404 Not Found: there is no broker {node_id}.")
        return found


async def check_cluster(proxy: Proxy, call: Call) -> str:
    """The id of the cluster, without asking again what it holds."""
    cluster_id = await proxy.cluster_id(call)
    if call.path["cluster_id"] != cluster_id:
        raise _other_cluster(cluster_id, call.path["cluster_id"])
    return cluster_id


async def view_of(proxy: Proxy, call: Call) -> View:
    """The cluster that the path names; this proxy knows one."""
    info, topics = await proxy.ask(proxy.clients(call).admin.describe)
    cluster_id = info.cluster_id or ""
    asked = call.path.get("cluster_id", cluster_id)
    if asked != cluster_id:
        raise _other_cluster(cluster_id, asked)
    return View(Links(proxy.url_of(call), cluster_id), info, topics)


def _other_cluster(cluster_id: str, asked: str) -> RestError:
    return RestError(404, f"HTTP 404 Not Found: this proxy serves cluster {cluster_id!r}, not {asked!r:.80}.")


def number(text: str, code: int, what: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise RestError(code, f"{text!r:.80} is not the number of a {what}.")
    return int(text)
