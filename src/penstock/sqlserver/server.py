"""`SqlServer`: the parts of one server, put together; what routes and statements stand on.

The metastore is a replayed topic: a statement is tried on a copy, written to the command topic, and counts
when it was read back. Any server of the same service id may write. Everything here blocks.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any, Final

from penstock.client.acl_checking import authorizer_of
from penstock.client.admin import Admin
from penstock.client.direct import cluster_of
from penstock.client.errors import ClientError
from penstock.client.librdkafka import Connection
from penstock.client.replayed_settings import ReplayedTopicSettings
from penstock.client.replayed_topic import Decision, ReplayedTopic
from penstock.kernels.serdes import Serde
from penstock.plan.row_schemas import ColumnSchema, Format
from penstock.sql.engine import Engine
from penstock.sql.serdes.schemas import Schemas
from penstock.sql.serdes.table import row_serde
from penstock.sqlserver import commands
from penstock.sqlserver.commands import Command
from penstock.sqlserver.connectors import ConnectClient
from penstock.sqlserver.errors import COMMAND_TIMEOUT, KsqlError
from penstock.sqlserver.inserting import Inserter
from penstock.sqlserver.members import Servers
from penstock.sqlserver.metastore import Metastore
from penstock.sqlserver.persistent import PersistentQueries
from penstock.sqlserver.processing_log import ProcessingLog
from penstock.sqlserver.registry import RegistryAt
from penstock.sqlserver.settings import ServerSettings
from penstock.sqlserver.skipped import SkippedRecords
from penstock.sqlserver.topics import Topics
from penstock.sqlserver.view_set import ViewSet
from penstock.web.rights import Rights

log = logging.getLogger(__name__)
FOLLOW_EVERY_S: Final = 0.2
WAIT_S: Final = 0.02
CONNECT_S: Final = 30.0


class SqlServer:
    def __init__(
        self, settings: ServerSettings, address: str, on_failure: Callable[[str], None] | None = None
    ) -> None:
        """`address` is where other servers and clients find this one."""
        self.settings, self.address = settings, address
        url, access = settings.registry_url, settings.registry_access
        self.schemas: Schemas | None = RegistryAt(url, access) if url else None
        self.admin = Admin(settings.bootstrap_servers, settings=settings.client)
        self.topics = Topics(self.admin, settings.replicas)
        self.rights: Rights | None = None
        """What callers may do; None where the door asks nobody."""
        self.random = SystemRandom()
        self.changing = threading.Lock()
        """Held by a statement that changes what the server knows, topics included: one after another."""
        self.connect = ConnectClient(settings.values["ksql.connect.url"], settings.connect_access)
        self._command_topic: ReplayedTopic[Command, Metastore] = ReplayedTopic(
            ReplayedTopicSettings(
                settings.bootstrap_servers, settings.command_topic, settings.replicas, client=settings.client
            ),
            commands,
            Metastore(Engine(self.serde_of), self.serde_of),
            on_failure,
        )
        self.inserter = Inserter(settings, self.serde_of)
        self.processing_log = ProcessingLog(settings, self.admin)
        self.skipped = SkippedRecords(settings, self.admin)
        self.persistent = PersistentQueries(settings, self._state_dir(), self.processing_log.of)
        self.servers = Servers(
            cluster_of(Connection(settings.bootstrap_servers, CONNECT_S, settings.client)),
            f"{settings.prefix}_servers",
            settings.command_topic,
            address,
            settings.number("ksql.streams.session.timeout.ms"),
            lambda: self.persistent.divide(self._is_mine),
        )
        self.views = ViewSet(settings)
        self.cluster_id = ""
        self._closing = threading.Event()
        self._follower = threading.Thread(target=self._follow, name="follow-commands", daemon=True)

    def guard(self) -> None:
        """From now on callers may do what the cluster's entries say."""
        self.rights = Rights(partial(authorizer_of, self.admin))

    @property
    def metastore(self) -> Metastore:
        return self._command_topic.view.state

    def serde_of(self, form: Format, columns: Sequence[ColumnSchema], is_key: bool) -> Serde[Any]:
        return row_serde(form, columns, is_key, self.schemas)

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    def start(self) -> None:
        """Returns when every statement of the command topic is restored."""
        self.cluster_id = self.admin.cluster().cluster_id or ""
        self._command_topic.start()
        if self.metastore.catalogue.functions and not self.settings.flag("ksql.functions.python.enabled"):
            names = ", ".join(sorted(self.metastore.catalogue.functions))
            raise KsqlError(f"ksql.functions.python.enabled is false, and there are functions: {names}")
        self.processing_log.start()
        if self.processing_log.enabled:
            self.skipped.start()
        self.persistent.start(self._forget)
        self._follower.start()
        self.servers.start()

    def close(self) -> None:
        self._closing.set()
        self._command_topic.close()
        self.persistent.close()
        self.servers.end()
        self.views.close()
        self.skipped.close()
        self.processing_log.close()

    def change(
        self,
        command_id: str,
        statement: str,
        properties: Mapping[str, str],
        partitions: Mapping[str, int],
        check: Callable[[Metastore, Metastore], None] = lambda before, after: None,
    ) -> Command:
        """Write a statement to the command topic, and return when this server has read it back.

        SqlError when it cannot be executed on what is known then. `check` may refuse as well.
        """

        def decide(state: Metastore) -> Decision[Command, Command]:
            command = Command(state.next_number, command_id, statement, properties, partitions)
            after, outcome = state.tried(command)
            check(state, after)
            return Decision([] if outcome.skipped else [command], command)

        return self._command_topic.change(decide)

    async def wait_for_command(self, number: int | None) -> None:
        """Until this server has executed a command that another one may have taken; KsqlError in time."""
        timeout_ms = self.settings.number("ksql.server.command.response.timeout.ms")
        deadline = time.monotonic() + timeout_ms / 1000
        while number is not None and self.metastore.next_number <= number:
            if time.monotonic() > deadline:
                raise KsqlError(
                    "Timed out while waiting for a previous command to execute. "
                    f"Command sequence number: {number}",
                    COMMAND_TIMEOUT,
                )
            await asyncio.sleep(WAIT_S)

    def is_healthy(self) -> dict[str, bool]:
        try:
            kafka = bool(self.admin.cluster().brokers)
        except ClientError:
            kafka = False
        return {"metastore": True, "kafka": kafka, "commandRunner": not self._command_topic.failure}

    def _is_mine(self, query_id: str) -> bool:
        return self.servers.owner(query_id) == self.address

    def _state_dir(self) -> Path:
        given = self.settings.values["ksql.streams.state.dir"]
        name = f"penstock-sql-{self.settings.service_id}"
        return Path(given) if given else Path(tempfile.gettempdir()) / name

    def _follow(self) -> None:
        """Hand the queries of each new metastore on to those that run them."""
        seen: Metastore | None = None
        while not self._closing.wait(0 if seen is None else FOLLOW_EVERY_S):
            current = self.metastore
            if current is not seen:
                self.persistent.follow(current.queries)
                self.views.follow(current.catalogue)
                seen = current

    def _forget(self, query_id: str) -> None:
        """Delete what a query that is gone for good has left: its group's offsets and its internal topics."""
        application_id = self.settings.application_id(query_id)
        try:
            for name in self.topics.all():
                if name.startswith(f"{application_id}-"):
                    self.admin.delete_topic(name)
            self.admin.client.delete_consumer_groups([application_id])
        except ClientError as error:
            log.warning("what %s has left stays: %s", query_id, error)
