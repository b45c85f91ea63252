"""Routes of the JSON API for what is done with topics, groups, transactions and brokers. `api` joins them."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.client.configs import Owner
from penstock.client.errors import ClientError, is_denied
from penstock.console.attention import concerns
from penstock.console.cluster_values import (
    Disks,
    HangingTransaction,
    LogDirectory,
    Move,
    Quorum,
    TransactionState,
)
from penstock.console.group_stats import POLL_S as GROUPS_POLL_S
from penstock.console.group_stats import GroupStats
from penstock.console.overview import POLL_S
from penstock.console.query import parse_number
from penstock.console.resetting import parse_target
from penstock.console.services import Services
from penstock.security.access import ByBroker
from penstock.security.operations import Operation, ResourceType
from penstock.web import Call, Problem, Query, Route

SLOW_S: Final = 15.0
"""How old what is asked for seldom may be: disks and the quorum."""


class ConcernShape(msgspec.Struct):
    severity: str
    sentence: str
    page: str


class Growth(msgspec.Struct):
    partitions: int


class Emptied(msgspec.Struct):
    deleted: int


class Settings(msgspec.Struct):
    settings: dict[str, str | None]
    """A value, or null to take a setting back to its default."""


class LagShape(msgspec.Struct):
    topic: str
    partition: int
    committed_offset: int
    end_offset: int
    lag: int
    lag_seconds: float | None
    lag_seconds_exact: bool
    client_id: str | None


class GroupShape(msgspec.Struct):
    group_id: str
    state: str
    protocol: str
    members: int
    lag: int
    lag_seconds: float | None
    lag_seconds_exact: bool
    topics: list[str]


class GroupDetailShape(GroupShape):
    partitions: list[LagShape]


class Reset(msgspec.Struct):
    to: str
    value: str = ""
    topics: list[str] = []
    dry_run: bool = True
    """The default only says what would happen."""


class SettingShape(msgspec.Struct):
    name: str
    value: str | None
    default: bool
    read_only: bool
    source: str


class TransactionsShape(msgspec.Struct):
    transactions: list[TransactionState]
    hanging: list[HangingTransaction]


def operation_routes(services: Services, invalid: Problem, no_topic: Problem) -> tuple[Route, ...]:
    api = OperationsApi(services)
    topic, group, broker = "/api/topics/{name}", "/api/groups/{name}", "/api/brokers/{name}"
    cluster = ByBroker(Operation.DESCRIBE, ResourceType.CLUSTER)
    configs = ByBroker(Operation.ALTER_CONFIGS, ResourceType.TOPIC)
    no_group = Problem(404, "No such group", 40403)
    older = Query("older_than_ms", int, 900_000, "How long a transaction must be open to hang.")
    return (
        Route("GET", "/api/attention", api.attention, "What needs attention now.",
              returns=list[ConcernShape], access=cluster),
        Route("POST", f"{topic}/partitions", api.grow, "Adds partitions.", body=Growth, status=204,
              access=ByBroker(Operation.ALTER, ResourceType.TOPIC), problems=(invalid, no_topic)),
        Route("DELETE", f"{topic}/records", api.empty, "Deletes all records.", returns=Emptied,
              access=ByBroker(Operation.DELETE, ResourceType.TOPIC), problems=(no_topic,)),
        Route("PATCH", f"{topic}/settings", api.alter_topic, "Changes settings.", body=Settings, status=204,
              access=configs, problems=(invalid, no_topic)),
        Route("GET", "/api/groups", api.groups, "Groups with their lag.", returns=list[GroupShape],
              access=ByBroker(Operation.DESCRIBE, ResourceType.GROUP)),
        Route("GET", group, api.group, "A group's lag on each partition.", returns=GroupDetailShape,
              access=ByBroker(Operation.DESCRIBE, ResourceType.GROUP), problems=(no_group,)),
        Route("POST", f"{group}/reset", api.reset, "What a reset does; does it without dry_run.", body=Reset,
              returns=list[Move], access=ByBroker(Operation.READ, ResourceType.GROUP), problems=(invalid,)),
        Route("DELETE", group, api.delete_group, "Deletes a group.", status=204, problems=(no_group,),
              access=ByBroker(Operation.DELETE, ResourceType.GROUP)),
        Route("GET", "/api/transactions", api.transactions, "Transactional ids, and what hangs.",
              returns=TransactionsShape, query=(older,),
              access=ByBroker(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)),
        Route("POST", "/api/transactions/abort", api.abort, "Aborts a transaction that hangs.",
              body=HangingTransaction, status=204,
              access=ByBroker(Operation.CLUSTER_ACTION, ResourceType.CLUSTER), problems=(invalid,)),
        Route("GET", "/api/disks", api.disks, "Log directories.", returns=list[LogDirectory], access=cluster),
        Route("GET", "/api/quorum", api.quorum, "The metadata quorum.", returns=Quorum, access=cluster),
        Route("GET", f"{broker}/settings", api.broker_settings, "A broker's settings.",
              returns=list[SettingShape], access=ByBroker(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),
              problems=(invalid,)),
        Route("PATCH", f"{broker}/settings", api.alter_broker, "Changes dynamic settings.", body=Settings,
              status=204, access=ByBroker(Operation.ALTER_CONFIGS, ResourceType.CLUSTER),
              problems=(invalid,)),
    )  # fmt: skip


class OperationsApi:
    """One method for each route."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._backend = services.backend

    async def attention(self, _call: Call) -> list[ConcernShape]:
        overview = await self._services.overview.current(2 * POLL_S)
        groups = await self._services.groups.current(2 * GROUPS_POLL_S)
        try:
            disks: Disks | None = await self._services.disks.current(SLOW_S)
        except ClientError as error:
            if not is_denied(error):
                raise
            disks = None  # what the caller may not see concerns others
        return [ConcernShape(*each) for each in concerns(overview, groups, disks)]

    async def grow(self, call: Call) -> None:
        await self._backend.add_partitions(call.path["name"], call.body.partitions)
        self._services.overview.refresh()

    async def empty(self, call: Call) -> Emptied:
        deleted = await self._backend.empty_topic(call.path["name"])
        self._services.overview.refresh()
        return Emptied(deleted)

    async def alter_topic(self, call: Call) -> None:
        await self._backend.alter_configs(Owner.topic(call.path["name"]), call.body.settings)

    async def groups(self, _call: Call) -> list[GroupShape]:
        found = await self._services.groups.current(2 * GROUPS_POLL_S)
        return [group_shape(group) for group in found.groups]

    async def group(self, call: Call) -> GroupDetailShape:
        found = await self._services.groups.current(2 * GROUPS_POLL_S)
        return group_detail_shape(found.group(call.path["name"]))

    async def reset(self, call: Call) -> list[Move]:
        wanted: Reset = call.body
        target = parse_target(wanted.to, wanted.value)
        moves = await self._backend.reset_plan(call.path["name"], tuple(wanted.topics), target)
        if not wanted.dry_run:
            await self._backend.reset_group(call.path["name"], moves)
            self._services.groups.refresh()
        return moves

    async def delete_group(self, call: Call) -> None:
        await self._backend.delete_group(call.path["name"])
        self._services.groups.refresh()

    async def transactions(self, call: Call) -> TransactionsShape:
        return TransactionsShape(
            await self._backend.transactions(),
            await self._backend.hanging_transactions(call.number("older_than_ms")),
        )

    async def abort(self, call: Call) -> None:
        await self._backend.abort_transaction(call.body)

    async def disks(self, _call: Call) -> list[LogDirectory]:
        return list((await self._services.disks.current(SLOW_S)).directories)

    async def quorum(self, _call: Call) -> Quorum:
        return await self._services.quorum.current(SLOW_S)

    async def broker_settings(self, call: Call) -> list[SettingShape]:
        return [
            SettingShape(each.name, each.value, each.is_default, each.is_read_only, each.source)
            for each in await self._backend.configs(_broker(call))
            if not each.is_sensitive
        ]

    async def alter_broker(self, call: Call) -> None:
        await self._backend.alter_configs(_broker(call), call.body.settings)


def group_shape(group: GroupStats) -> GroupShape:
    behind = group.behind
    return GroupShape(
        group.info.group_id,
        group.info.state,
        group.info.kind,
        len(group.info.members),
        group.lag,
        None if behind is None else behind.seconds,
        behind is not None and behind.exact,
        group.topics,
    )


def group_detail_shape(group: GroupStats) -> GroupDetailShape:
    partitions = [
        LagShape(
            each.lag.topic,
            each.lag.partition,
            each.lag.committed_offset,
            each.lag.end_offset,
            each.lag.lag,
            None if each.behind is None else each.behind.seconds,
            each.behind is not None and each.behind.exact,
            None if each.lag.member is None else each.lag.member.client_id,
        )
        for each in group.partitions
    ]
    return GroupDetailShape(**msgspec.structs.asdict(group_shape(group)), partitions=partitions)


def _broker(call: Call) -> Owner:
    return Owner.broker(parse_number("broker", call.path["name"], most=2**31 - 1))
