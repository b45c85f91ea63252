"""Version 3: tasks of brokers, and what a cluster without Confluent Server's parts does not have.

A task is the addition or the removal of a broker by Confluent Server, which moves its replicas by itself.
Here replicas move by reassignments, so there are no tasks: their lists are empty. Streams groups (KIP-1071)
are refused as Confluent's proxy refuses them on a cluster that does not have them.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from penstock.rest import access
from penstock.rest.errors import API_VERSION_NOT_SUPPORTED, RestError
from penstock.rest.proxy import Proxy
from penstock.rest.v3.lookup import check_cluster, view_of
from penstock.rest.v3.shapes import Listing
from penstock.web import Call, Problem, Route

REFUSED: Final = Problem(400, "The cluster does not support it", 40035)
TASK_TYPES: Final = ("add-broker", "remove-broker")
CLUSTER: Final = "/v3/clusters/{cluster_id}"
_GROUP: Final = f"{CLUSTER}/streams-groups/{{group_id}}"
_MEMBER: Final = f"{_GROUP}/members/{{member_id}}"
_OF_TYPE: Final = "{assignments_type}/subtopologies/{subtopology_id}"
UNSUPPORTED: Final = (
    ("GET", f"{CLUSTER}/streams-groups", "The streams groups."),
    ("GET", _GROUP, "A streams group."),
    ("GET", f"{_GROUP}/members", "Its members."),
    ("GET", _MEMBER, "A member."),
    ("GET", f"{_MEMBER}/assignments", "What it has."),
    ("GET", f"{_MEMBER}/assignments/{{assignments_type}}", "What it has, of one type."),
    ("GET", f"{_MEMBER}/assignments/{_OF_TYPE}", "What it has of one subtopology."),
    ("GET", f"{_MEMBER}/target-assignments", "What it is to have."),
    ("GET", f"{_MEMBER}/target-assignments/{{assignments_type}}", "What it is to have, of one type."),
    ("GET", f"{_MEMBER}/target-assignments/{_OF_TYPE}", "What it is to have of one subtopology."),
    ("GET", f"{_GROUP}/subtopologies", "Its subtopologies."),
    ("GET", f"{_GROUP}/subtopologies/{{subtopology_id}}", "A subtopology."),
)  # fmt: skip
"""Operations that need the protocol of KIP-1071, which Penstock's broker does not speak."""


class TaskRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def all(self, call: Call) -> Listing[dict[str, Any]]:
        _check_type(call)
        view = await view_of(self._proxy, call)
        more = (call.path["task_type"],) if "task_type" in call.path else ()
        return Listing("KafkaBrokerTaskList", view.links.listing("brokers", "-", "tasks", *more), [])

    async def of_broker(self, call: Call) -> Listing[dict[str, Any]]:
        view = await view_of(self._proxy, call)
        node_id = view.broker(call.path["broker_id"]).node_id
        return Listing("KafkaBrokerTaskList", view.links.listing("brokers", node_id, "tasks"), [])

    async def one(self, call: Call) -> NoReturn:
        _check_type(call)
        view = await view_of(self._proxy, call)
        node_id = view.broker(call.path["broker_id"]).node_id
        told = f"broker {node_id} has no task of the type {call.path['task_type']}."
        raise RestError(404, f"HTTP 404 Not Found: {told}")

    async def unsupported(self, call: Call) -> NoReturn:
        await check_cluster(self._proxy, call)
        raise RestError(
            API_VERSION_NOT_SUPPORTED,
            "The version of this API is not supported in the underlying Kafka cluster: Penstock's broker has "
            "no streams groups (KIP-1071), and the proxy does not ask for them.",
        )


def task_routes(proxy: Proxy, problems: tuple[Problem, ...]) -> tuple[Route, ...]:
    routes, needs = TaskRoutes(proxy), access.SEES_CLUSTER
    listing, of_broker = Listing[dict[str, Any]], f"{CLUSTER}/brokers/{{broker_id}}/tasks"
    return (
        Route("GET", f"{CLUSTER}/brokers/-/tasks", routes.all, "Tasks of brokers: there are none.",
              access=needs, returns=listing, problems=problems),
        Route("GET", f"{CLUSTER}/brokers/-/tasks/{{task_type}}", routes.all, "The same of one type.",
              access=needs, returns=listing, problems=problems),
        Route("GET", of_broker, routes.of_broker, "Tasks of a broker: there are none.",
              access=needs, returns=listing, problems=problems),
        Route("GET", f"{of_broker}/{{task_type}}", routes.one, "One task of a broker: there is none.",
              access=needs, problems=problems),
        *(
            Route(method, path, routes.unsupported, f"{told} Not supported.",
                  access=needs, problems=(REFUSED, *problems))
            for method, path, told in UNSUPPORTED
        ),
    )  # fmt: skip


def _check_type(call: Call) -> None:
    kind = call.path.get("task_type", TASK_TYPES[0])
    if kind not in TASK_TYPES:
        told = f"{kind!r:.80} is no type of task; use {' or '.join(TASK_TYPES)}."
        raise RestError(404, f"HTTP 404 Not Found: {told}")
