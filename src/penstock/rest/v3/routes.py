"""The table of version 3."""

from __future__ import annotations

from typing import Any

from penstock.rest import access
from penstock.rest.proxy import Proxy
from penstock.rest.v3 import shapes
from penstock.rest.v3.acls import FILTER, AclRoutes, AclShape, DeletedAcls, NewAcl, NewAcls
from penstock.rest.v3.configs import ConfigRoutes
from penstock.rest.v3.groups import GroupRoutes
from penstock.rest.v3.produce import ProduceRoutes
from penstock.rest.v3.reassignments import ReassignmentRoutes, ReassignmentShape
from penstock.rest.v3.requests import (
    Batch,
    BatchResult,
    ConfigChanges,
    NewTopic,
    NewValue,
    PartitionsCount,
    ProduceRecord,
    RecordAnswer,
)
from penstock.rest.v3.shapes import Listing
from penstock.rest.v3.share_groups import share_group_routes
from penstock.rest.v3.tasks import task_routes
from penstock.rest.v3.topics import ClusterRoutes, TopicRoutes
from penstock.security.access import ByBroker
from penstock.web import Problem, Route

CLUSTER = "/v3/clusters/{cluster_id}"
TOPIC = CLUSTER + "/topics/{topic_name}"
PARTITION = TOPIC + "/partitions/{partition_id}"
BROKER = CLUSTER + "/brokers/{broker_id}"
GROUP = CLUSTER + "/consumer-groups/{consumer_group_id}"
CONSUMER = GROUP + "/consumers/{consumer_id}"

NOT_FOUND = Problem(404, "It is not there")
GENERAL = (
    NOT_FOUND,
    Problem(401, "Kafka does not know the proxy", 40101),
    Problem(403, "Kafka does not allow it", 40301),
    Problem(501, "The broker does not support it", 50101),
    Problem(503, "Kafka does not answer", 50302),
)
REFUSED = Problem(400, "Kafka refuses it", 40002)


def v3_routes(proxy: Proxy) -> tuple[Route, ...]:
    return (
        *_cluster_routes(ClusterRoutes(proxy)),
        *_topic_routes(TopicRoutes(proxy)),
        *_config_routes(ConfigRoutes(proxy)),
        *_group_routes(GroupRoutes(proxy)),
        *_produce_routes(ProduceRoutes(proxy)),
        *_acl_routes(AclRoutes(proxy)),
        *_reassignment_routes(ReassignmentRoutes(proxy)),
        *share_group_routes(proxy, GENERAL),
        *task_routes(proxy, GENERAL),
    )


def _cluster_routes(routes: ClusterRoutes) -> tuple[Route, ...]:
    return (
        _get(
            "/v3/clusters",
            routes.clusters,
            "The cluster of this proxy.",
            Listing[shapes.Cluster],
            needs=access.SEES_CLUSTER,
        ),
        _get(CLUSTER, routes.cluster, "A cluster.", shapes.Cluster, needs=access.SEES_CLUSTER),
        _get(
            f"{CLUSTER}/brokers",
            routes.brokers,
            "Its brokers.",
            Listing[shapes.Broker],
            needs=access.SEES_CLUSTER,
        ),
        _get(BROKER, routes.broker, "A broker.", shapes.Broker, needs=access.SEES_CLUSTER),
        _get(
            f"{BROKER}/partition-replicas",
            routes.replicas_of_broker,
            "The replicas on a broker.",
            Listing[shapes.Replica],
            needs=access.SEES_CLUSTER,
        ),
    )


def _topic_routes(routes: TopicRoutes) -> tuple[Route, ...]:
    return (
        _get(f"{CLUSTER}/topics", routes.all, "All topics.", Listing[shapes.Topic], needs=access.SEES_TOPIC),
        _send(
            "POST",
            f"{CLUSTER}/topics",
            routes.create,
            "Create a topic.",
            NewTopic,
            shapes.Topic,
            201,
            needs=access.CREATES_TOPIC,
        ),
        _get(TOPIC, routes.get, "A topic.", shapes.Topic, needs=access.SEES_TOPIC),
        _send(
            "PATCH",
            TOPIC,
            routes.grow,
            "Add partitions.",
            PartitionsCount,
            shapes.Topic,
            200,
            needs=access.ALTERS_TOPIC,
        ),
        _send("DELETE", TOPIC, routes.delete, "Delete a topic.", needs=access.DELETES_TOPIC),
        _get(
            f"{TOPIC}/partitions",
            routes.partitions,
            "Its partitions.",
            Listing[shapes.Partition],
            needs=access.SEES_TOPIC,
        ),
        _get(PARTITION, routes.partition, "A partition.", shapes.Partition, needs=access.SEES_TOPIC),
        _get(
            f"{PARTITION}/offset",
            routes.offsets,
            "Its offsets.",
            shapes.PartitionWithOffsets,
            needs=access.SEES_TOPIC,
        ),
        _get(
            f"{PARTITION}/replicas",
            routes.replicas,
            "Its replicas.",
            Listing[shapes.Replica],
            needs=access.SEES_TOPIC,
        ),
        _get(
            f"{PARTITION}/replicas/{{broker_id}}",
            routes.replica,
            "A replica.",
            shapes.Replica,
            needs=access.SEES_TOPIC,
        ),
    )


def _config_routes(routes: ConfigRoutes) -> tuple[Route, ...]:
    places = (
        (f"{TOPIC}/configs", "a topic", access.SEES_TOPIC_CONFIGS, access.ALTERS_TOPIC_CONFIGS),
        (f"{BROKER}/configs", "a broker", access.SEES_BROKER_CONFIGS, access.ALTERS_BROKER_CONFIGS),
        (
            f"{CLUSTER}/broker-configs",
            "all brokers",
            access.SEES_BROKER_CONFIGS,
            access.ALTERS_BROKER_CONFIGS,
        ),
    )
    listing = Listing[shapes.Config]
    return (
        _get(
            f"{CLUSTER}/topics/-/configs",
            routes.list_of_all_topics,
            "Settings of all topics.",
            listing,
            needs=access.SEES_TOPIC_CONFIGS,
        ),
        _get(
            f"{TOPIC}/default-configs",
            routes.defaults,
            "The settings that a topic has without its own.",
            listing,
            needs=access.SEES_TOPIC_CONFIGS,
        ),
        _get(
            f"{CLUSTER}/brokers/-/configs",
            routes.list_of_all_brokers,
            "Settings of each broker.",
            listing,
            needs=access.SEES_BROKER_CONFIGS,
        ),
        *(
            route
            for path, whose, sees, changes in places
            for route in (
                _get(path, routes.all, f"Settings of {whose}.", listing, needs=sees),
                _get(f"{path}/{{name}}", routes.get, f"A setting of {whose}.", shapes.Config, needs=sees),
                _send(
                    "PUT",
                    f"{path}/{{name}}",
                    routes.put,
                    f"Set a setting of {whose}.",
                    NewValue,
                    needs=changes,
                ),
                _send(
                    "DELETE", f"{path}/{{name}}", routes.delete, f"Reset a setting of {whose}.", needs=changes
                ),
                _send(
                    "POST",
                    f"{path}:alter",
                    routes.alter,
                    f"Change settings of {whose}.",
                    ConfigChanges,
                    needs=changes,
                ),
            )
        ),
    )


def _group_routes(routes: GroupRoutes) -> tuple[Route, ...]:
    return (
        _get(
            f"{CLUSTER}/consumer-groups",
            routes.all,
            "All consumer groups.",
            Listing[shapes.ConsumerGroup],
            needs=access.SEES_GROUP,
        ),
        _get(GROUP, routes.get, "A consumer group.", shapes.ConsumerGroup, needs=access.SEES_GROUP),
        _get(
            f"{GROUP}/consumers",
            routes.consumers,
            "Its consumers.",
            Listing[shapes.Consumer],
            needs=access.SEES_GROUP,
        ),
        _get(CONSUMER, routes.consumer, "A consumer.", shapes.Consumer, needs=access.SEES_GROUP),
        _get(
            f"{CONSUMER}/assignments",
            routes.assignments,
            "What it has.",
            Listing[shapes.Assignment],
            needs=access.SEES_GROUP,
        ),
        _get(
            f"{CONSUMER}/assignments/{{topic_name}}/partitions/{{partition_id}}",
            routes.assignment,
            "One partition that it has.",
            shapes.Assignment,
            needs=access.SEES_GROUP,
        ),
        _get(
            f"{GROUP}/lag-summary",
            routes.lag_summary,
            "How far a group is behind.",
            shapes.LagSummary,
            needs=access.SEES_GROUP,
        ),
        _get(
            f"{GROUP}/lags",
            routes.lags,
            "Its lag on each partition.",
            Listing[shapes.Lag],
            needs=access.SEES_GROUP,
        ),
        _get(
            f"{GROUP}/lags/{{topic_name}}/partitions/{{partition_id}}",
            routes.lag,
            "Its lag on one partition.",
            shapes.Lag,
            needs=access.SEES_GROUP,
        ),
    )


def _produce_routes(routes: ProduceRoutes) -> tuple[Route, ...]:
    return (
        Route(
            "POST",
            f"{TOPIC}/records",
            routes.records,
            "Produce a record, or one JSON object after the other; each is answered by a line.",
            ProduceRecord,
            access=access.WRITES_TOPIC,
            body_streamed=True,
            returns=RecordAnswer,
            problems=GENERAL,
        ),
        Route(
            "POST",
            f"{TOPIC}/records:batch",
            routes.batch,
            "Produce a few records, each with an id.",
            Batch,
            access=access.WRITES_TOPIC,
            returns=BatchResult,
            status=207,
            problems=GENERAL,
        ),
    )


def _acl_routes(routes: AclRoutes) -> tuple[Route, ...]:
    path, refused = f"{CLUSTER}/acls", (REFUSED, *GENERAL)
    return (
        Route("GET", path, routes.all, "Access control entries.", returns=Listing[AclShape], query=FILTER,
              problems=refused, access=access.SEES_CLUSTER),
        Route("POST", path, routes.create, "Create an access control entry.", NewAcl, status=201,
              problems=refused, access=access.ALTERS_CLUSTER),
        Route("POST", f"{path}:batch", routes.create_several, "Create several entries.", NewAcls, status=201,
              problems=refused, access=access.ALTERS_CLUSTER),
        Route("DELETE", path, routes.delete, "Delete access control entries.", returns=DeletedAcls,
              query=FILTER, problems=refused, access=access.ALTERS_CLUSTER),
    )  # fmt: skip


def _reassignment_routes(routes: ReassignmentRoutes) -> tuple[Route, ...]:
    several, needs = Listing[ReassignmentShape], access.SEES_CLUSTER
    return (
        _get(f"{CLUSTER}/topics/-/partitions/-/reassignment", routes.all, "All moves.", several, needs),
        _get(f"{TOPIC}/partitions/-/reassignment", routes.of_topic, "Moves of a topic.", several, needs),
        _get(f"{PARTITION}/reassignment", routes.of_partition, "The move of a partition.",
             ReassignmentShape, needs),
    )  # fmt: skip


def _get(path: str, handler: Any, summary: str, returns: Any, needs: ByBroker) -> Route:
    return Route("GET", path, handler, summary, returns=returns, problems=GENERAL, access=needs)


def _send(
    method: str,
    path: str,
    handler: Any,
    summary: str,
    body: Any = None,
    returns: Any = None,
    status: int = 204,
    *,
    needs: ByBroker,
) -> Route:
    problems = (REFUSED, *GENERAL)
    return Route(
        method, path, handler, summary, body, returns=returns, status=status, problems=problems, access=needs
    )
