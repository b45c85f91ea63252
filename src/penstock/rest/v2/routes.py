"""The table of version 2."""

from __future__ import annotations

from typing import Any

from penstock.rest import access
from penstock.rest.formats import ANSWER_TYPES, BODY_TYPES, JSON, PRODUCE_TYPES, RECORDS_TYPES, V2
from penstock.rest.proxy import Proxy
from penstock.rest.v2.consumers import ConsumerRoutes
from penstock.rest.v2.produce import ProduceRoutes
from penstock.rest.v2.reading_stream import STREAMS
from penstock.rest.v2.shapes import (
    Brokers,
    CommittedOffsets,
    CreatedInstance,
    NewInstance,
    Offsets,
    OffsetsToCommit,
    Partition,
    Partitions,
    Positions,
    Produce,
    Produced,
    ReadRecord,
    SubscribedTopics,
    Subscription,
    Topic,
)
from penstock.rest.v2.topics import TopicRoutes
from penstock.security.access import ByBroker
from penstock.web import MediaTypes, Problem, Query, Route

TYPES = MediaTypes(ANSWER_TYPES, BODY_TYPES)
PRODUCE = MediaTypes(ANSWER_TYPES, (V2, *(name for name in PRODUCE_TYPES if name != V2)))
RECORDS = MediaTypes((V2, JSON, *RECORDS_TYPES, *STREAMS), BODY_TYPES)

NO_TOPIC = Problem(404, "Topic not found", 40401)
NO_PARTITION = Problem(404, "Partition not found", 40402)
NO_INSTANCE = Problem(404, "Consumer instance not found", 40403)
NO_BROKER = Problem(503, "Kafka does not answer", 50302)
ILLEGAL = Problem(409, "The instance is subscribed or assigned otherwise", 40903)
SCHEMA_PROBLEMS = (
    Problem(408, "Schema registration or lookup failed", 40801),
    Problem(422, "Keys without a key schema", 42201),
    Problem(422, "Values without a value schema", 42202),
    Problem(422, "The schema cannot be used", 42205),
    Problem(422, "The schema is not registered", 42207),
)
INSTANCE = "/consumers/{group}/instances/{instance}"


def v2_routes(proxy: Proxy) -> tuple[Route, ...]:
    topics, produce, consumers = TopicRoutes(proxy), ProduceRoutes(proxy), ConsumerRoutes(proxy)
    may_write = (NO_TOPIC, NO_PARTITION, *SCHEMA_PROBLEMS, *_DENIED)
    return (
        _get("/", topics.root, "Nothing: the proxy is there.", dict[str, Any]),
        _get("/brokers", topics.brokers, "The ids of the brokers.", Brokers),
        _get("/topics", topics.all, "The names of all topics.", list[str]),
        _get("/topics/{topic}", topics.get, "A topic with its settings and partitions.", Topic, NO_TOPIC),
        _get("/topics/{topic}/partitions", topics.partitions, "Its partitions.", list[Partition], NO_TOPIC),
        _get(
            "/topics/{topic}/partitions/{partition}",
            topics.partition,
            "One partition.",
            Partition,
            NO_TOPIC,
            NO_PARTITION,
        ),
        _get(
            "/topics/{topic}/partitions/{partition}/offsets",
            topics.offsets,
            "The first and the next offset of a partition.",
            Offsets,
            NO_TOPIC,
            NO_PARTITION,
        ),
        Route(
            "POST",
            "/topics/{topic}",
            produce.to_topic,
            "Produce records.",
            Produce,
            access=access.WRITES_TOPIC,
            returns=Produced,
            problems=(*may_write, NO_BROKER),
            media_types=PRODUCE,
        ),
        Route(
            "POST",
            "/topics/{topic}/partitions/{partition}",
            produce.to_partition,
            "Produce records to one partition.",
            Produce,
            access=access.WRITES_TOPIC,
            returns=Produced,
            problems=(*may_write, NO_BROKER),
            media_types=PRODUCE,
        ),
        *_consumer_routes(consumers),
        *_reading_routes(consumers),
    )


def _consumer_routes(consumers: ConsumerRoutes) -> tuple[Route, ...]:
    return (
        Route(
            "POST",
            "/consumers/{group}",
            consumers.create,
            "Make a consumer instance.",
            NewInstance,
            access=access.READS_GROUP,
            body_optional=True,
            returns=CreatedInstance,
            problems=(
                Problem(409, "The group has an instance of that name", 40902),
                Problem(422, "A setting cannot be used", 42204),
                Problem(429, "Too many instances", 42901),
                NO_BROKER,
            ),
            media_types=TYPES,
        ),
        _on_instance("DELETE", "", consumers.delete, "Delete an instance, which leaves its group."),
        _on_instance("POST", "/subscription", consumers.subscribe, "Subscribe to topics.", Subscription),
        _get(
            f"{INSTANCE}/subscription",
            consumers.subscription,
            "The topics it is subscribed to.",
            SubscribedTopics,
            NO_INSTANCE,
            needs=access.READS_GROUP,
        ),
        _on_instance("DELETE", "/subscription", consumers.unsubscribe, "Unsubscribe from all topics."),
        _on_instance("POST", "/assignments", consumers.assign, "Assign partitions.", Partitions),
        _get(
            f"{INSTANCE}/assignments",
            consumers.assignment,
            "The partitions that it has.",
            Partitions,
            NO_INSTANCE,
            needs=access.READS_GROUP,
        ),
    )


def _reading_routes(consumers: ConsumerRoutes) -> tuple[Route, ...]:
    return (
        Route(
            "GET",
            f"{INSTANCE}/records",
            consumers.records,
            "Read records, as many as come within the time; or a stream of them, where Accept asks for one.",
            access=access.READS_TOPIC,
            returns=list[ReadRecord],
            query=(
                Query(
                    "timeout", int, -1, "Milliseconds to wait at most; the instance's own setting limits it."
                ),
                Query("max_bytes", int, -1, "Bytes of keys and values after which it is enough."),
            ),
            problems=(
                NO_INSTANCE,
                ILLEGAL,
                Problem(406, "The instance has another format", 40601),
                Problem(408, "Schema registration or lookup failed", 40801),
                Problem(422, "A record is not in the instance's format", 42203),
                NO_BROKER,
            ),
            media_types=RECORDS,
        ),
        Route(
            "POST",
            f"{INSTANCE}/offsets",
            consumers.commit,
            "Commit offsets, or without a body everything that was read.",
            OffsetsToCommit,
            access=access.READS_GROUP,
            body_optional=True,
            returns=list[str],
            query=(Query("async", str, "false", "With true the answer does not wait for the commit."),),
            problems=(NO_INSTANCE, ILLEGAL, NO_BROKER),
            media_types=TYPES,
        ),
        Route(
            "GET",
            f"{INSTANCE}/offsets",
            consumers.committed,
            "What the group has committed of the partitions in the body.",
            Partitions,
            access=access.READS_GROUP,
            body_optional=True,
            returns=CommittedOffsets,
            problems=(NO_INSTANCE, NO_PARTITION, NO_BROKER),
            media_types=TYPES,
        ),
        _on_instance("POST", "/positions", consumers.seek, "Go on elsewhere.", Positions),
        _on_instance(
            "POST", "/positions/beginning", consumers.seek_to_beginning, "Go to the beginning.", Partitions
        ),
        _on_instance("POST", "/positions/end", consumers.seek_to_end, "Go to the end.", Partitions),
    )


_DENIED = (
    Problem(401, "Kafka does not know the proxy", 40101),
    Problem(403, "Kafka does not allow it", 40301),
)


def _get(
    path: str,
    handler: Any,
    summary: str,
    returns: Any,
    *problems: Problem,
    needs: ByBroker = access.SEES_TOPIC,
) -> Route:
    return Route(
        "GET",
        path,
        handler,
        summary,
        access=needs,
        returns=returns,
        problems=(*problems, NO_BROKER),
        media_types=TYPES,
    )


def _on_instance(method: str, path: str, handler: Any, summary: str, body: Any = None) -> Route:
    return Route(
        method,
        INSTANCE + path,
        handler,
        summary,
        body,
        access=access.READS_GROUP,
        status=204,
        problems=(NO_INSTANCE, ILLEGAL, NO_BROKER),
        media_types=TYPES,
    )
