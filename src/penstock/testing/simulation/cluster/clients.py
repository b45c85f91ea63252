"""Consumers and onlookers of a simulated cluster: they follow leaders and try again, as real ones do. What
they ask and are told becomes a history for `penstock.testing.history` to judge."""

from __future__ import annotations

from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.records.batch import iter_headers
from penstock.testing.history.events import Assign, Isolation, Poll, Polled, ReadRecord, Watermarks
from penstock.testing.history.recorder import Recorder
from penstock.testing.simulation.clients import records_of
from penstock.testing.simulation.cluster.metadata import ClusterClient

PAUSE_MS: Final = 60.0
LOOK_MS: Final = 300.0
LATEST: Final = -1


class Consumer:
    """Reads one partition from its beginning by long polls, from its leader. Under read_committed it leaves
    out what was aborted, as clients do."""

    def __init__(
        self,
        client: ClusterClient,
        recorder: Recorder,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> None:
        self.records: list[ReadRecord] = []
        self.position = 0
        self._isolation = isolation
        self._last_epoch = -1
        self._client = client
        self._recorder = recorder
        self._operation: int | None = None
        recorder.fact(client.name, Assign(client.partition, start=0))
        client.later(self._go_on)

    def cut(self) -> None:
        self._client.cut()

    def _go_on(self) -> None:
        if self._client.leader is None:
            self._client.refresh(self._go_on)
        else:
            self._fetch(self._client.leader)

    def _fetch(self, leader: int) -> None:
        client, random = self._client, self._client.random
        self._operation = self._recorder.invoke(client.name, Poll(self._isolation))
        wanted = {
            "partition": client.partition.number,
            "current_leader_epoch": client.leader_epoch,
            "fetch_offset": self.position,
            "last_fetched_epoch": self._last_epoch,
            "log_start_offset": -1,
            "partition_max_bytes": random.choice([1, 200, 1 << 20]),
        }
        fields = {
            "replica_id": -1,
            "max_wait": 300,
            "min_bytes": random.choice([0, 1, 500]),
            "max_bytes": 1 << 20,
            "isolation_level": int(self._isolation is Isolation.READ_COMMITTED),
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": client.partition.topic, "partitions": [wanted]}],
            "forgotten_topics_data": (),
            "rack_id": "",
        }
        client.link(leader).call(Api.FETCH, 12, fields, self._got, self._lost)

    def _lost(self) -> None:
        self._fail("the connection broke, and nothing was taken")

    def _fail(self, why: str) -> None:
        assert self._operation is not None, "an end that nobody waits for"
        self._recorder.fail(self._operation, why)
        self._client.leader = None
        self._client.later(self._go_on)

    def _got(self, response: Any) -> None:
        answer = response.responses[0].partitions[0]
        code = ErrorCode(int(answer.error_code))
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            raise AssertionError(f"{self._client.name} has read up to {self.position}, which is out of range")
        if code is not ErrorCode.NONE:
            self._fail(code.name)
            return
        if answer.diverging_epoch.end_offset >= 0:
            raise AssertionError(
                f"{self._client.name} is told that what it read below {self.position} is gone"
            )
        aborted = [(each.first_offset, each.producer_id) for each in answer.aborted_transactions or ()]
        self._take(bytes(answer.records or b""), aborted)
        self._client.later(self._go_on, PAUSE_MS)

    def _take(self, data: bytes, aborted: list[tuple[int, int]]) -> None:
        """A batch comes whole; what lies before the position was had already."""
        found = records_of(self._client.partition, data, aborted)
        records = [record for record in found if record.offset >= self.position]
        assert self._operation is not None, "an answer that nobody waits for"
        self._recorder.ok(self._operation, Polled(tuple(records)))
        self.records += records
        for _, header in iter_headers(memoryview(data)):
            if header.next_offset > self.position:
                self.position, self._last_epoch = header.next_offset, header.leader_epoch


class Onlooker:
    """Asks now and then where a partition ends. A client that knows the newest leader never sees it go back
    (KIP-207)."""

    def __init__(self, client: ClusterClient, recorder: Recorder) -> None:
        self.end = 0
        self._client = client
        self._recorder = recorder
        client.later(self._go_on)

    def cut(self) -> None:
        self._client.cut()

    def _go_on(self) -> None:
        if self._client.leader is None:
            self._client.refresh(self._go_on)
        else:
            self._look(self._client.leader)

    def _look(self, leader: int) -> None:
        place = self._client.partition
        query = {
            "partition_index": place.number,
            "current_leader_epoch": self._client.leader_epoch,
            "timestamp": LATEST,
        }
        topics = [{"name": place.topic, "partitions": [query]}]
        fields = {"replica_id": -1, "isolation_level": 0, "topics": topics}
        operation = self._recorder.invoke(self._client.name, Poll())
        self._client.link(leader).call(
            Api.LIST_OFFSETS,
            5,
            fields,
            lambda response: self._got(operation, response),
            lambda: self._fail(operation, "the connection broke"),
        )

    def _fail(self, operation: int, why: str) -> None:
        self._recorder.fail(operation, why)
        self._client.leader = None
        self._client.later(self._go_on)

    def _got(self, operation: int, response: Any) -> None:
        found = response.topics[0].partitions[0]
        code = ErrorCode(int(found.error_code))
        if code is not ErrorCode.NONE:
            self._fail(operation, code.name)
            return
        self.end = int(found.offset)
        self._recorder.ok(operation, Polled((), (Watermarks(self._client.partition, self.end),)))
        self._client.later(self._go_on, LOOK_MS)
