"""Records that flow while something breaks: producers, a reader, and the verdict when all is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock.testing.history import Recorder, assert_kept
from penstock.testing.history.clients import RecordedConsumer, RecordedProducer, read_to_the_end
from penstock.testing.history.events import History, Partition, ReplicaLog

DEADLINE_SECONDS = 90.0
AT_ONCE = 200
PORTIONS_A_SECOND = 50


class Load(threading.Thread):
    """An idempotent producer that sends unique values, as fast as it may or so many a second."""

    def __init__(
        self,
        recorder: Recorder,
        servers: str,
        name: str,
        partitions: Sequence[Partition],
        *,
        rate: int | None = None,
        config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(daemon=True)
        self._partitions = partitions
        self._at_once = AT_ONCE if rate is None else max(1, rate // PORTIONS_A_SECOND)
        self._is_paced = rate is not None
        self._stopping = threading.Event()
        defaults = {
            "bootstrap.servers": servers,
            "log_level": 2,
            "linger.ms": 2,
            "reconnect.backoff.max.ms": 200,
            "queue.buffering.max.messages": 10_000,
        }
        self.producer = RecordedProducer(recorder, name, {**defaults, **(config or {})})

    def run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._stopping.is_set():
            for _ in range(self._at_once):
                number += 1
                if not self.producer.send(self._partitions[number % len(self._partitions)]):
                    self.producer.poll(0.1)
                    break
            self.producer.poll(0.001)
            if self._is_paced:  # a poll ends with the first report that comes, so it is no pause
                due = max(due + 1 / PORTIONS_A_SECOND, time.monotonic() - 1)
                self._stopping.wait(due - time.monotonic())

    def stop(self) -> None:
        self._stopping.set()

    def finish(self) -> None:
        """Send no more, and wait until everything sent has its report."""
        self._stopping.set()
        self.join(DEADLINE_SECONDS)
        assert self.producer.flush(DEADLINE_SECONDS) == 0


class Reader(threading.Thread):
    """A consumer that follows all partitions, and looks at their high watermarks at the end."""

    def __init__(
        self,
        recorder: Recorder,
        servers: str,
        partitions: Sequence[Partition],
        *,
        config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(daemon=True)
        self._partitions = partitions
        self._stopping = threading.Event()
        own = {"bootstrap.servers": servers, "log_level": 2, "reconnect.backoff.max.ms": 200}
        self._consumer = RecordedConsumer(recorder, "reader", {**own, **(config or {})})

    def run(self) -> None:
        self._consumer.assign(dict.fromkeys(self._partitions, 0))
        while not self._stopping.is_set():
            self._consumer.poll(5_000, 0.2)
        for partition in self._partitions:
            self._consumer.look(partition)
        self._consumer.close()

    def stop(self) -> None:
        self._stopping.set()

    def finish(self) -> None:
        self._stopping.set()
        self.join(DEADLINE_SECONDS)
        assert not self.is_alive()


class Flow:
    """Two producers and a reader on a topic that exists, from `start` to the verdict."""

    def __init__(
        self,
        servers: str,
        topic: str,
        partitions: int,
        *,
        rate: int | None = None,
        config: dict[str, Any] | None = None,
        security: dict[str, Any] | None = None,
    ) -> None:
        """`config` is for the producers, `security` for every client."""
        self.servers = servers
        self._security = security or {}
        self.recorder = Recorder()
        self.partitions = [Partition(topic, number) for number in range(partitions)]
        self.began = time.monotonic()
        self.loads = [
            Load(
                self.recorder,
                servers,
                f"load{number}",
                self.partitions,
                rate=rate,
                config={**self._security, **(config or {})},
            )
            for number in range(2)
        ]
        self._reader = Reader(self.recorder, servers, self.partitions, config=self._security)

    def start(self) -> None:
        for thread in (*self.loads, self._reader):
            thread.start()

    @property
    def acked(self) -> int:
        return sum(load.producer.acked for load in self.loads)

    @property
    def now(self) -> float:
        """The time of the history."""
        return time.monotonic() - self.began

    def wait_for_acks(self, count: int = 1) -> None:
        """Until so many more records are acknowledged."""
        before = self.acked
        wait_until(lambda: self.acked >= before + count, f"{count} more acknowledgements after {before}")

    def stop(self) -> None:
        """Let nobody go on when the test has failed already."""
        for thread in (*self.loads, self._reader):
            thread.stop()

    def finish(self) -> None:
        """Every record sent is acknowledged; nobody sends or reads any more."""
        for thread in (*self.loads, self._reader):
            thread.finish()
        refused = [str(error) for load in self.loads for error in load.producer.errors]
        assert not refused, f"{len(refused)} records were refused, the first with {refused[0]}"

    def judge(self, read_replicas: Callable[[Partition, int], list[ReplicaLog]] | None = None) -> History:
        """A full read, and the checker's verdict on everything; with the replicas' files where they can be
        read."""
        finals = read_to_the_end(
            self.servers, self.partitions, seconds=DEADLINE_SECONDS, config=self._security
        )
        replicas: list[ReplicaLog] = []
        for final in finals if read_replicas is not None else ():
            assert read_replicas is not None
            found = read_replicas(final.partition, final.high_watermark)
            for replica in found:
                assert len(replica.records) == len(final.records), (
                    f"broker {replica.broker} has {len(replica.records)} of {len(final.records)} records "
                    f"of {final.partition}"
                )
            replicas += found
        history = self.recorder.history(finals, replicas)
        assert_kept(history)
        return history


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE_SECONDS:g} s for {what}"
        threading.Event().wait(0.02)
