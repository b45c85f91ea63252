"""`Flow`: one direction between two clusters, from its start to its end.

Instances of a mirror that run the same flow find each other in a group of the target: one copies and the
others stand by. The fence of the transactional id keeps two from writing, whatever the group says.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from penstock.mirror.counting import FlowCounts
from penstock.mirror.duties import (
    OWN_GROUPS,
    Duty,
    DutyThread,
    GroupDuties,
    HeartbeatDuty,
    TopicDuties,
)
from penstock.mirror.progress import Progress
from penstock.mirror.settings import SYNC_QUOTAS, FlowSettings
from penstock.mirror.sides import Side
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.errors import Fenced, WireError

if TYPE_CHECKING:
    from penstock.spark.host.standing_by import InstanceElection
    from penstock.spark.mirroring.query import MirrorQuery

log = logging.getLogger(__name__)

SESSION_TIMEOUT_MS: Final = 6_000
HEARTBEAT_INTERVAL_MS: Final = 1_500
TRANSACTION_TIMEOUT_MS: Final = 600_000
MAX_OFFSETS: Final = 5_000_000
LAG_SECONDS: Final = 2.0
SYNCS_SECONDS: Final = 1.0
POLL_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 10.0
STOP_SECONDS: Final = 30.0


COPY, GROUPS, HEARTBEATS = "copy", "groups", "heartbeats"
EVERYTHING: Final = frozenset({COPY, GROUPS, HEARTBEATS})
"""The parts of a flow. MirrorMaker 2 has a connector for each."""


class Flow:
    """`start`, then it goes on by itself; `stop` returns when everything of it has ended."""

    def __init__(
        self,
        settings: FlowSettings,
        spark: Callable[[], Any],
        copies: int,
        parts: frozenset[str] = EVERYTHING,
    ) -> None:
        """`spark` gives the session, which all flows share; `copies` is how many flows share its cores."""
        self.settings = settings
        self.counts = FlowCounts(settings.source, settings.target)
        self._spark = spark
        self._parts = parts
        self._copies = max(1, copies)
        self._source = Side(settings.source, settings.source_client, settings.admin_texts("source"))
        self._target = Side(settings.target, settings.target_client, settings.admin_texts("target"))
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._duties: list[DutyThread] = []
        self._topics = TopicDuties(settings, self._source, self._target, self.counts)
        self.state = "starting"
        """`starting`, `running`, `standing by`, `failing` or `stopped`."""

    def start(self) -> None:
        intervals = self.settings.intervals
        if intervals.heartbeats is not None and HEARTBEATS in self._parts:
            beat = HeartbeatDuty(self.settings, self._target).beat
            self._add_duties("heartbeats", [Duty("heartbeats", intervals.heartbeats, beat)])
        if not self.settings.enabled:
            self.state = "heartbeats only"
        elif COPY in self._parts:
            thread = threading.Thread(target=self._run, name=f"mirror-{self.settings}", daemon=True)
            self._threads.append(thread)
            thread.start()
        elif GROUPS in self._parts:
            self._add_duties("groups", self._group_duties())
            self.state = "running"

    def stop(self) -> None:
        self._stopping.set()
        for duty in self._duties:
            duty.end()
        for thread in [*self._threads, *self._duties]:
            thread.join(STOP_SECONDS)
        self._source.close()
        self._target.close()
        self.state = "stopped"

    def _add_duties(self, name: str, duties: list[Duty]) -> DutyThread:
        thread = DutyThread(f"{self.settings} {name}", duties, self.counts)
        self._duties.append(thread)
        thread.start()
        return thread

    def _run(self) -> None:
        """Stand by, run while elected, begin again after failures."""
        from penstock.spark.host.standing_by import InstanceElection

        progress = Progress(self.settings, self._source, self._target, self.counts)
        if not self._prepare(progress):
            return
        election = InstanceElection(
            self._target.cluster,
            f"{OWN_GROUPS}{self.settings}",
            uuid.uuid4().hex,
            [TopicPartition(self.settings.offsets_topic, 0)],
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        )
        election.start()
        try:
            failures = 0
            while not self._stopping.is_set():
                if election.error is not None:
                    self.state = "failing"
                    self.counts.failed("standing by")
                    log.error(
                        "%s ends, because its group cannot be joined: %s", self.settings, election.error
                    )
                    return
                if not election.elected.wait(POLL_SECONDS):
                    self.state = "standing by"
                    continue
                failures = 0 if self._run_elected(election, progress) else failures + 1
                if failures:
                    self._stopping.wait(min(LONGEST_PAUSE_SECONDS, 0.5 * 2 ** min(failures, 6)))
        finally:
            election.end()
            election.join(STOP_SECONDS)

    def _prepare(self, progress: Progress) -> bool:
        """Make the internal topics, however long it takes until both clusters are there."""
        attempt = 0
        while not self._stopping.is_set():
            try:
                progress.prepare()
                self._topics.refresh()
                return True
            except Exception as error:
                self.state = "failing"
                self.counts.failed("starting")
                log.warning("%s cannot start yet: %s", self.settings, error)
                self._stopping.wait(min(LONGEST_PAUSE_SECONDS, 0.5 * 2 ** min(attempt, 6)))
                attempt += 1
        return False

    def _run_elected(self, election: InstanceElection, progress: Progress) -> bool:
        """One run of the copy with the duties beside it; false when it failed."""
        query = self._query(progress)
        duties: list[DutyThread] = []
        batches = self.counts.batches
        try:
            query.start(self._spark(), progress.load)
            election.running = True
            self.state = "running"
            self.counts.copying = True
            duties = self._start_duties(progress)
            while not query.wait(POLL_SECONDS):
                if self._stopping.is_set() or not election.elected.is_set():
                    return True
            return self._judge(query, election) or self.counts.batches > batches
        except Exception as error:
            query.error = query.error or error
            return self._judge(query, election)
        finally:
            self.counts.copying = False
            self._end(query, duties)

    def _judge(self, query: MirrorQuery, election: InstanceElection) -> bool:
        error = query.error
        if isinstance(error, Fenced):
            log.warning("%s: another instance has taken over: standing by", self.settings)
            self.state = "standing by"
            election.resign()
            return False
        self.state = "failing"
        self.counts.failed("copying")
        short = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        known = isinstance(error, WireError)
        log.warning("%s: the copy is started again: %s", self.settings, error if known else short[0][:500])
        return False

    def _end(self, query: MirrorQuery, duties: list[DutyThread]) -> None:
        for duty in duties:
            duty.end()
        try:
            query.stop()
        except Exception as error:  # Spark may be gone already
            log.warning("%s: stopping the query: %s", self.settings, str(error)[:300])
        for duty in duties:
            duty.join(STOP_SECONDS)
            self._duties.remove(duty)

    def _query(self, progress: Progress) -> MirrorQuery:
        from penstock.spark.mirroring.query import MirrorQuery

        settings = self.settings
        tasks = settings.whole("tasks.max", 0, least=0)
        return MirrorQuery(
            f"mirror-{settings}",
            settings.selection,
            settings.source_client,
            settings.target_client,
            progress,
            transactional_id=settings.transactional_id,
            timeout_ms=settings.whole("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS),
            read_committed=settings.read_committed,
            from_end=settings.from_end,
            codec=settings.codec,
            max_offsets=settings.whole("max.offsets.per.batch", MAX_OFFSETS),
            shards=lambda slots: min(tasks or slots, slots // self._copies),
        )

    def _group_duties(self) -> list[Duty]:
        intervals = self.settings.intervals
        groups = GroupDuties(self.settings, self._source, self._target, self.counts)
        wanted = [
            ("refreshing groups", intervals.groups, groups.refresh),
            ("checkpoints", intervals.checkpoints, groups.emit_checkpoints),
        ]
        if intervals.checkpoints is not None:
            wanted.append(("syncing group offsets", intervals.group_offsets, groups.sync_offsets))
        return [Duty(name, seconds, work) for name, seconds, work in wanted if seconds is not None]

    def _start_duties(self, progress: Progress) -> list[DutyThread]:
        intervals, topics = self.settings.intervals, self._topics
        wanted = [
            ("refreshing topics", intervals.topics, topics.refresh),
            ("syncing configurations", intervals.configs, topics.sync_configs),
            ("syncing ACLs", intervals.acls, topics.sync_acls),
        ]
        if self.settings.flag(SYNC_QUOTAS, default=False):
            wanted.append(("syncing quotas", intervals.configs, topics.sync_quotas))
        often = [
            Duty("offset syncs", SYNCS_SECONDS, progress.tell_syncs),
            Duty("lag", LAG_SECONDS, topics.look_at_ends),
        ]
        chosen = [Duty(name, seconds, work) for name, seconds, work in wanted if seconds is not None]
        groups = self._group_duties() if GROUPS in self._parts else []
        named = (("topics", chosen), ("groups", groups), ("lag", often))
        return [self._add_duties(name, duties) for name, duties in named if duties]
