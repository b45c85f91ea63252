"""Persistent queries on Spark: all of a server in one Spark application, each a Streams application with its
own id, exactly once.

`follow` compares the queries that the metastore has with those that run, and starts and stops what differs.
One thread does so; Spark is started by the first query, and never by a server that has none.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from penstock.metrics.text import Family, Sample
from penstock.sqlserver.metastore import KnownQuery
from penstock.sqlserver.query_log import QueryLog
from penstock.sqlserver.settings import ServerSettings
from penstock.streams.application import Application
from penstock.streams.topology import Topology

log = logging.getLogger(__name__)
LOOK_EVERY_S: Final = 1.0
LOOK_AGAIN_S: Final = 0.2
"""While queries wait for their turn to start."""
STANDING_BY_S: Final = 5.0
"""How long a query that waits for its election counts as one that starts."""
AT_ONCE: Final = max(2, os.cpu_count() or 2)
"""Queries that start at the same time: each starts processes of its own, and a hundred at once starve."""
_PASSED_ON: Final = (
    "processing.guarantee", "max.offsets.per.trigger", "compression.type", "transaction.timeout.ms",
    "heartbeat.interval.ms", "replication.factor", "cache.max.bytes.buffering", "statestore.cache.max.bytes",
    "penstock.origin",
)  # fmt: skip
"""Settings of queries, of the session or of the server with `ksql.streams.` before them."""
_STATES: Final = {
    "created": "UNRESPONSIVE", "standing by": "RUNNING", "running": "RUNNING", "failed": "ERROR",
    "closed": "UNRESPONSIVE",
}  # fmt: skip

_ENGINE: Final = "io_confluent_ksql_metrics_ksql_engine_query_stats_"
"""ksqlDB's MBean `io.confluent.ksql.metrics:type=ksql-engine-query-stats`, in the JMX exporter's spelling."""
PERSISTENT: Final = Family(
    f"{_ENGINE}num_persistent_queries", "gauge", "Persistent queries of the service.", ("service_id",)
)
ACTIVE: Final = Family(
    f"{_ENGINE}num_active_queries", "gauge", "Persistent queries that this server runs.", ("service_id",)
)
STATES: Final = Family(
    f"{_ENGINE}queries", "gauge", "Persistent queries of the service by state.", ("service_id", "state")
)
FAMILIES: Final = (PERSISTENT, ACTIVE, STATES)


@dataclass
class Running:
    known: KnownQuery
    application: Application | None = None
    error: str = ""
    failures: int = 0
    """How often in a row it has failed."""
    next_try: float = 0.0
    """By the monotonic clock, when a query that has failed is started again."""
    began: float = field(default_factory=time.monotonic)

    @property
    def is_starting(self) -> bool:
        if self.application is None or self.application.state not in ("standing by", "running"):
            return False
        if self.application.state == "standing by":
            return time.monotonic() - self.began < STANDING_BY_S
        return self.application.is_opening

    @property
    def has_failed(self) -> bool:
        return bool(self.error) or (self.application is not None and self.application.state == "failed")


class PersistentQueries:
    def __init__(self, settings: ServerSettings, state_dir: Path, log_of: Callable[[str], QueryLog]) -> None:
        """`log_of` gives a query its processing log."""
        self._settings, self._state_dir, self._log_of = settings, state_dir, log_of
        self._is_mine: Callable[[str], bool] = lambda query_id: False
        self._divided = 0
        self._running: dict[str, Running] = {}
        self._wanted: Mapping[str, KnownQuery] = {}
        self._known: set[str] = set()
        """The queries that there were when this was last brought up to date."""
        self._changed = threading.Condition()
        self._closing = False
        self._session: Any = None
        self._thread = threading.Thread(target=self._run, name="persistent-queries", daemon=True)
        self._on_end: Callable[[str], None] = lambda query_id: None

    def start(self, on_end: Callable[[str], None]) -> None:
        """`on_end` is called with the id of a query that is gone for good, when nothing of it runs."""
        self._on_end = on_end
        self._thread.start()

    def follow(self, wanted: Mapping[str, KnownQuery]) -> None:
        with self._changed:
            self._wanted = wanted
            self._changed.notify_all()

    def divide(self, is_mine: Callable[[str], bool]) -> None:
        """Which of the queries this server runs; until then it runs none."""
        with self._changed:
            self._is_mine = is_mine
            self._divided += 1
            self._changed.notify_all()

    def state_of(self, query_id: str) -> str:
        """RUNNING, PAUSED, ERROR or UNRESPONSIVE, as ksqlDB names them."""
        known = self._wanted.get(query_id)
        if known is not None and known.paused:
            return "PAUSED"
        running = self._running.get(query_id)
        if running is None:
            return "RUNNING" if known is not None else "UNRESPONSIVE"
        if running.error:
            return "ERROR"
        return "RUNNING" if running.application is None else _STATES[running.application.state]

    def error_of(self, query_id: str) -> str:
        running = self._running.get(query_id)
        if running is None:
            return ""
        failed = running.application.error if running.application is not None else None
        return running.error or ("" if failed is None else str(failed))

    def progress_of(self, query_id: str) -> dict[str, Any]:
        """How the last batch of a query that runs here went; empty where it does not, or none has ended."""
        running = self._running.get(query_id)
        if running is None or running.application is None:
            return {}
        return running.application.progress

    def samples(self) -> Iterator[Sample]:
        """ksqlDB's numbers of the engine, then those of each query that runs here. Blocking."""
        states = [self.state_of(query_id) for query_id in list(self._wanted)]
        service = {"service_id": self._settings.service_id}
        applications = [each.application for each in list(self._running.values()) if each.application]
        yield Sample(PERSISTENT, service, len(states))
        yield Sample(ACTIVE, service, len(applications))
        for state in ("RUNNING", "PAUSED", "ERROR", "UNRESPONSIVE"):
            yield Sample(STATES, {**service, "state": state.lower()}, states.count(state))
        for application in applications:
            yield from application.metrics()

    def is_running(self, query_id: str) -> bool:
        """Whether records flow."""
        running = self._running.get(query_id)
        return bool(running and running.application and running.application.state == "running")

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        for running in self._running.values():
            if running.application is not None:
                running.application.close()
        if self._session is not None:
            self._session.stop()

    def _run(self) -> None:
        """Until `close`."""
        while True:
            with self._changed:
                if self._closing:
                    return
                wanted, divided = self._wanted, self._divided
            try:
                pause_s = LOOK_EVERY_S if self._reconcile(wanted) else LOOK_AGAIN_S
            except Exception:
                pause_s = LOOK_EVERY_S
                log.exception("persistent queries could not be brought up to date")
            with self._changed:
                if self._wanted is wanted and self._divided == divided and not self._closing:
                    self._changed.wait(pause_s)

    def _reconcile(self, wanted: Mapping[str, KnownQuery]) -> bool:
        """False when queries are left that wait for their turn to start."""
        self._leave_lost_session()
        mine = {name: known for name, known in wanted.items() if self._is_mine(name) and not known.paused}
        for name in [
            each for each, running in self._running.items()
            if each not in mine or mine[each].query is not running.known.query
        ]:  # fmt: skip
            self._stop(name)
        for name in self._known - wanted.keys():
            if self._is_mine(name):
                self._on_end(name)
        self._known = set(wanted)
        for name, known in mine.items():
            if self._closing:
                return True
            running = self._running.get(name)
            if running is None:
                if sum(each.is_starting for each in self._running.values()) >= AT_ONCE:
                    return False
                self._start(name, Running(known))
            elif running.has_failed:
                self._start_again(name, running)
        return True

    def _leave_lost_session(self) -> None:
        """When Spark's JVM has died all queries end with it, and are started in another one at once."""
        if self._session is None:
            return
        from penstock.spark import lost

        if lost.is_lost(self._session):
            log.warning("Spark's JVM has died: another one is started, and the queries with it")
            for name in list(self._running):
                self._stop(name)
            lost.forget()
            self._session = None

    def _start_again(self, name: str, running: Running) -> None:
        """A query that has failed is started again, after a pause that grows."""
        now = time.monotonic()
        if not running.next_try:
            first = self._settings.number("ksql.query.retry.backoff.initial.ms")
            most = self._settings.number("ksql.query.retry.backoff.max.ms")
            pause_ms = min(first * 2**running.failures, most)
            running.next_try = now + pause_ms / 1000
            log.warning("query %s has failed and is started again in %d ms", name, pause_ms)
        elif now >= running.next_try:
            if running.application is not None:
                running.application.close()
            self._start(name, Running(running.known, failures=running.failures + 1))

    def _start(self, name: str, running: Running) -> None:
        self._running[name] = running
        try:
            application = self._application(name, running.known)
            application.start(self._spark())
            running.application = application
        except Exception as error:
            running.error = str(error)
            log.error("query %s could not be started: %s", name, error)
            return
        log.info("query %s runs as %s", name, application.application_id)

    def _application(self, name: str, known: KnownQuery) -> Application:
        given = known.command.properties
        settings: dict[str, Any] = {
            "processing.guarantee": "exactly_once_v2",
            "session.timeout.ms": self._settings.values["ksql.streams.session.timeout.ms"],
            "replication.factor": str(self._settings.replicas),
            "auto.offset.reset": given.get("auto.offset.reset", "latest"),
        }
        for short in _PASSED_ON:
            value = given.get(short, self._settings.values.get(f"ksql.streams.{short}"))
            if value is not None:
                settings[short] = value
        settings |= self._settings.client
        return Application(
            Topology.of(known.query.plan),
            self._settings.application_id(name),
            self._settings.bootstrap_servers,
            settings,
            self._state_dir,
            self._log_of(name).handlers,
        )

    def _spark(self) -> Any:
        if self._session is None:
            from penstock.spark.launch import session

            name = f"penstock-sql-{self._settings.service_id}"
            self._session = session(name, self._settings.values["ksql.query.spark.master"])
        return self._session

    def _stop(self, name: str) -> None:
        running = self._running.pop(name)
        if running.application is not None:
            running.application.close()
        log.info("query %s does not run here any more", name)
