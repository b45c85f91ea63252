"""`TopologyTestDriver`: a topology without broker and JVM. Records are piped in, results read out, time is
moved by hand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from penstock.kernels.record import Headers, Record
from penstock.kernels.serdes import Serde, from_bytes, to_bytes
from penstock.kernels.windows import Duration, millis
from penstock.plan.failures import OnFailure, fail_processing
from penstock.plan.raw_records import OnBadRecord, Produced, RawRecord, fail
from penstock.plan.task import Task
from penstock.streams.topology import Topology


class TopologyTestDriver:
    """Every record goes all the way through, repartition topics included, before `pipe` returns.

    With `emit_every_update=False` tables emit one update for each key and `pipe_all`, as a micro-batch does.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        application_id: str = "test-application",
        start_ms: int = 0,
        emit_every_update: bool = True,
        on_bad_record: OnBadRecord = fail,
        on_failure: OnFailure = fail_processing,
    ) -> None:
        self._plan = topology.plan
        self._now_ms = start_ms
        self._offsets: dict[str, int] = {}
        self._results: dict[str, deque[Produced]] = {}
        self._sinks = {sink.topic: sink for _, sink in self._plan.sinks if sink.topic is not None}
        self._task = Task(
            self._plan,
            application_id=application_id,
            emit_every_update=emit_every_update,
            now_ms=start_ms,
            on_put=self._log,
            on_bad_record=on_bad_record,
            on_failure=on_failure,
        )

    def __enter__(self) -> TopologyTestDriver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._task.close()

    def pipe(
        self, topic: str, key: Any, value: Any, timestamp: int | None = None, headers: Headers = ()
    ) -> None:
        """One record, with the serdes of the source that reads the topic; its time is the wall clock's if
        not given.
        """
        self.pipe_all([(topic, key, value, timestamp, headers)])

    def pipe_all(self, records: Iterable[tuple[Any, ...]]) -> None:
        """Several records `(topic, key, value, timestamp, headers)`, as one batch."""
        raw = [self._raw(*record) for record in records]
        if self._task.state.caching:
            self._run(raw)
        else:
            for record in raw:
                self._run([record])

    def _raw(
        self, topic: str, key: Any, value: Any, timestamp: int | None = None, headers: Headers = ()
    ) -> RawRecord:
        _, source = self._task.source_of(topic)
        when = self._now_ms if timestamp is None else timestamp
        return self._at_end(
            topic,
            to_bytes(source.key_serde, topic, key),
            to_bytes(source.value_serde, topic, value),
            when,
            headers,
        )

    def pipe_raw(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        """One record as bytes, for instance a poison pill."""
        self._run([self._at_end(topic, key, value, timestamp, headers)])

    def _at_end(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
    ) -> RawRecord:
        offset = self._offsets.get(topic, 0)
        self._offsets[topic] = offset + 1
        return RawRecord(topic, 0, offset, timestamp, key, value, headers)

    def _run(self, records: list[RawRecord]) -> None:
        """Process what was given and what comes back through topics that the topology reads itself."""
        self._settle(self._task.step(records))

    def _settle(self, produced: list[Produced]) -> None:
        while produced:
            again: list[RawRecord] = []
            for result in produced:
                self._results.setdefault(result.topic, deque()).append(result)
                if self._task.reads(result.topic):
                    again.append(
                        self._at_end(result.topic, result.key, result.value, result.timestamp, result.headers)
                    )
            produced = self._task.step(again)

    def advance_wall_clock(self, by: Duration) -> None:
        """Move the wall clock; punctuators of wall-clock time run."""
        self._now_ms += millis(by)
        self._task.advance_wall_clock(self._now_ms)
        self._task.flush()
        self._settle(self._task.take_outputs())

    def read(
        self, topic: str, *, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None
    ) -> list[Record]:
        """All records of a topic that were not read yet, with the serdes of its sink if none are given."""
        results = self._results.pop(topic, deque())
        sink = self._sinks.get(topic)
        key = key_serde or (sink.key_serde if sink else None)
        value = value_serde or (sink.value_serde if sink else None)
        if results and (key is None or value is None):
            raise ValueError(f"topic {topic} has no sink of its own: give key_serde= and value_serde=")
        return [
            Record(
                from_bytes(key, topic, result.key) if key else None,
                from_bytes(value, topic, result.value) if value else None,
                result.timestamp,
                result.headers,
            )
            for result in results
        ]

    def read_raw(self, topic: str) -> list[Produced]:
        """The same as bytes: repartition and changelog topics have their full names."""
        return list(self._results.pop(topic, deque()))

    @property
    def topics(self) -> Iterator[str]:
        """Topics that have records to read."""
        return iter(self._results)

    def reads(self, topic: str) -> bool:
        """Whether the topology has a source for a topic."""
        return self._task.reads(topic)

    def store(self, name: str) -> Any:
        """A state store, as processors see it."""
        if name not in self._task.stores:
            raise KeyError(f"there is no store {name}; there are {sorted(self._task.stores)}")
        return self._task.stores[name]

    @property
    def stores(self) -> list[str]:
        return sorted(self._task.stores)

    def _log(self, store: str, key: bytes, value: bytes | None, timestamp: int) -> None:
        topic = self._plan.changelog_name(store, self._task.state.application_id)
        self._results.setdefault(topic, deque()).append(Produced(topic, key, value, timestamp))
