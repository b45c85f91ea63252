"""A whole broker without sockets or threads: requests go in through a session, time passes by hand."""

from __future__ import annotations

from random import Random
from typing import Any

from penstock.handlers.broker import Broker
from penstock.handlers.reply import NoReply, Outcome, Reply, Wait
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.messages import encode_request, read_response
from penstock.protocol.metadata import Node as Endpoint
from penstock.protocol.primitives import Writer
from penstock.records.record import Record, encode_batch
from penstock.security.principals import ANONYMOUS, Principal
from penstock.server.connections.session import Session
from penstock.server.node import Node
from penstock.settings import BrokerSettings
from penstock.testing.disk import SimDisk

LISTENER = "PLAINTEXT"


class HandClock:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000.0

    def now_ms(self) -> int:
        return int(self.ms)

    def monotonic(self) -> float:
        return self.ms / 1000

    def pass_ms(self, duration_ms: float) -> None:
        self.ms += duration_ms


class OneNode:
    """A node on a disk in memory. `ask` sends a request and gives the answer as kio reads it."""

    def __init__(self, settings: dict[str, str] | None = None, disk: SimDisk | None = None) -> None:
        self.clock = HandClock()
        self.disk = disk or SimDisk(Random(1))
        self._settings = {"log.dirs": "/data", **(settings or {})}
        self._start()

    def _start(self) -> None:
        endpoints = {LISTENER: Endpoint(1, "localhost", 9092)}
        settings = BrokerSettings.from_texts(self._settings)
        self.node = Node(settings, self.disk, self.clock, Random(2), endpoints)
        self.session = self.connect()

    def restart(self, *, killed: bool = False) -> None:
        """Stop and start on the same disk; `killed` leaves no time for a goodbye."""
        if killed:
            self.disk.kill()
        else:
            self.node.close()
        self._start()

    def load(self) -> None:
        """Let the coordinators read what they hold, as their threads would after a start."""
        for runtime in (coordinator.runtime for coordinator in self.broker.coordinators.values()):
            while runtime.load_next():
                pass

    def connect(self, principal: Principal = ANONYMOUS, host: str = "127.0.0.1") -> Session:
        return Session(self.broker, LISTENER, host, principal=principal)

    @property
    def broker(self) -> Broker:
        return self.node.broker

    def ask(self, api: Api, version: int, *, client_id: str = "test", **fields: Any) -> Any:
        """The answer to a request; a request that waits is answered at its deadline."""
        return read_response(api, version, self.ask_raw(api, version, client_id=client_id, **fields))

    def ask_raw(self, api: Api, version: int, *, client_id: str = "test", **fields: Any) -> bytes:
        reply = self.settle(self.submit(api, version, client_id=client_id, **fields))
        return body_of(reply)

    def submit(self, api: Api, version: int, *, client_id: str = "test", **fields: Any) -> Outcome:
        frame = request_frame(api, version, encode_request(api, version, fields), client_id)
        return self.session.handle(memoryview(bytearray(frame))).outcome

    def settle(self, outcome: Outcome) -> Reply:
        while isinstance(outcome, Wait):
            self.clock.ms = max(self.clock.ms, outcome.deadline * 1000)
            outcome = outcome.resume(True)
        assert not isinstance(outcome, NoReply)
        return outcome

    # What many tests need

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> bytes:
        """Gives the topic's id."""
        wish = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "assignments": (),
            "configs": [{"name": key, "value": value} for key, value in configs.items()],
        }
        fields = {"topics": [wish], "timeout": 1000, "validate_only": False}
        (topic,) = self.ask(Api.CREATE_TOPICS, 7, **fields).topics
        assert topic.error_code == 0, topic
        topic_id: bytes = topic.topic_id.bytes
        return topic_id

    def append(self, topic: str, values: list[bytes], partition: int = 0, **batch: Any) -> int:
        """One batch, straight to the partition; gives its first offset."""
        records = [Record(None, value, (), self.clock.now_ms()) for value in values]
        encoded = encode_batch(records, **batch)
        return self.broker.partitions.get(topic, partition).append(memoryview(encoded)).base_offset


def body_of(reply: Reply) -> bytes:
    return b"".join(part if isinstance(part, bytes) else part.read() for part in reply.parts)


def request_frame(api: Api, version: int, body: bytes, client_id: str = "test") -> bytes:
    """A frame without its length."""
    header = Writer()
    header.int16(api)
    header.int16(version)
    header.int32(7)
    header.string(client_id)
    header.flexible = is_flexible(api, version)
    header.tags()
    return bytes(header.data) + body
