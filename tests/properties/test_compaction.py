"""A compacted log through appends, rolls, rounds of the cleaner, retention, restarts, deaths at any operation
and power cuts, against a dictionary.

Whatever happened: each record that is there is the one that was written at its offset, in order; and
replaying the log gives the last value of every key, no more and no less.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch
from penstock.settings import BrokerSettings
from penstock.storage.cleaner import LogCleaner
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.storage.slice import FileSlice
from tests.storage.builders import NOW_MS, StillClock, records, settings
from tests.storage.frail_disk import Died, FrailDisk

TOPIC_ID = bytes(range(16))
DELETE_RETENTION_MS = 60_000
RETENTION_MS = 900_000
# Room for a handful of keys: a round of the cleaner seldom reaches the end.
SMALL_MAP = dataclasses.replace(BrokerSettings(), log_cleaner_dedupe_buffer_size=2000)
LARGE_MAP = BrokerSettings()

KEYS = st.sampled_from([b"", b"a", b"b", b"c", b"d", b"a much longer key"])
VALUES = st.none() | st.binary(max_size=60)


def replayed(items: list[tuple[bytes | None, bytes | None]]) -> dict[bytes | None, bytes]:
    """What a reader knows in the end."""
    state: dict[bytes | None, bytes] = {}
    for key, value in items:
        if value is None:
            state.pop(key, None)
        else:
            state[key] = value
    return state


class CompactedLogAgainstDictionary(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 2**32), deleting=st.booleans(), small_map=st.booleans())
    def begin(self, seed: int, deleting: bool, small_map: bool) -> None:
        self.clock = StillClock()
        self.disk = FrailDisk(Random(seed))
        self.settings = settings(
            cleanup_policy=("compact", "delete") if deleting else ("compact",),
            segment_bytes=500,
            index_interval_bytes=100,
            min_cleanable_dirty_ratio=0.0,
            delete_retention_ms=DELETE_RETENTION_MS,
            retention_ms=RETENTION_MS,
        )
        self.broker_settings = SMALL_MAP if small_map else LARGE_MAP
        # Key, value and time of the record at each offset from zero on.
        self.written: list[tuple[bytes, bytes | None, int]] = []
        self.pending: list[tuple[bytes, bytes | None, int]] = []
        self.start_offset = 0
        self.producer_id = 1
        self.sequence = 0
        self.last_sent: tuple[bytearray, int] | None = None
        self.open()
        self.logs.create("topic", 0, TOPIC_ID, self.settings)

    def open(self) -> None:
        self.logs = Logs(self.disk, ["/data"], self.clock, random=Random(1))
        self.logs.open_directories()
        # As if the topic's policy were not known: what may have gaps is known to the directory.
        self.logs.open_logs(lambda _: settings(segment_bytes=500, index_interval_bytes=100))
        if self.logs.get("topic", 0) is not None:
            self.log.reconfigure(self.settings)
        self.cleaner = LogCleaner(self.logs, self.clock, Random(2), lambda: self.broker_settings)
        self.slices: list[tuple[FileSlice, bytes]] = []

    @property
    def log(self) -> Log:
        log = self.logs.get("topic", 0)
        assert log is not None
        return log

    # What is done to the log

    @rule(
        items=st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4),
        codec=st.sampled_from([Codec.NONE, Codec.LZ4]),
        idempotent=st.booleans(),
    )
    def append(self, items: list[tuple[bytes, bytes | None]], codec: Codec, idempotent: bool) -> None:
        base, now = len(self.written), self.clock.now_ms()
        options: dict[str, Any] = {"codec": codec}
        if idempotent:
            options |= {"producer_id": self.producer_id, "producer_epoch": 0, "base_sequence": self.sequence}
        batch = encode_batch([Record(key, value, timestamp_ms=now) for key, value in items], **options)
        self.pending = [(key, value, now) for key, value in items]
        kept = bytearray(batch)
        appended = self.log.append_produced(self.log.examine(memoryview(batch)), leader_epoch=0)
        assert (appended.base_offset, appended.duplicate) == (base, False)
        self.written += self.pending
        self.pending = []
        if idempotent:
            self.sequence += len(items)
            self.last_sent = kept, base

    @rule()
    def send_again(self) -> None:
        if self.last_sent is not None:
            batch, base = self.last_sent
            appended = self.log.append_produced(
                self.log.examine(memoryview(bytearray(batch))), leader_epoch=0
            )
            assert (appended.base_offset, appended.duplicate) == (base, True)

    @rule()
    def roll_and_flush(self) -> None:
        self.log.roll()
        self.log.flush()

    @rule(rounds=st.integers(1, 4))
    def clean(self, rounds: int) -> None:
        for _ in range(rounds):
            self.cleaner.clean_next(lambda seconds: None)
        assert self.cleaner.uncleanable() == {}

    @rule(seconds=st.integers(0, 400))
    def keep_house(self, seconds: int) -> None:
        self.clock.pass_ms(seconds * 1000)
        self.logs.tick()
        self.see_start()

    @rule(fraction=st.floats(0, 1))
    def take_slice(self, fraction: float) -> None:
        offset = self.start_offset + int(fraction * (len(self.written) - self.start_offset))
        piece = self.log.read(offset, 1000)
        if piece is not None:
            self.slices.append((piece, piece.read()))

    # How a process ends

    @rule()
    def stop_cleanly(self) -> None:
        self.logs.close()
        self.disk.crash()
        self.open()
        self.see_start()

    @rule(
        action=st.sampled_from(["clean", "clean", "clean", "roll_and_flush", "tick", "close", "append"]),
        operations=st.integers(0, 40),
        power_cut=st.booleans(),
    )
    def die(self, action: str, operations: int, power_cut: bool) -> None:
        doing: dict[str, Callable[[], object]] = {
            "clean": lambda: self.clean(2),
            "roll_and_flush": self.roll_and_flush,
            "tick": lambda: self.keep_house(300),
            "close": lambda: self.logs.close(),
            "append": lambda: self.append([(b"last", b"words")], Codec.NONE, False),
        }
        self.disk.arm(operations)
        try:
            doing[action]()
        except Died:
            pass
        finally:
            self.disk.disarm()
        flushed = self.log.recovery_point
        if power_cut:
            self.disk.crash()
        else:
            self.disk.kill()
        self.open()
        self.see_end(flushed if power_cut else len(self.written))
        self.see_start()

    def see_end(self, at_least: int) -> None:
        """A power cut takes what was not flushed; what was in flight may be there."""
        end = self.log.log_end_offset
        assert at_least <= end <= len(self.written) + len(self.pending)
        self.written = (self.written + self.pending)[:end]
        if self.last_sent is not None and end <= self.last_sent[1]:
            self.forget_producer()
        self.pending = []

    def forget_producer(self) -> None:
        self.producer_id += 1
        self.sequence = 0
        self.last_sent = None

    def see_start(self) -> None:
        self.start_offset = self.log.log_start_offset
        assert self.start_offset <= len(self.written)
        if self.last_sent is not None and (
            self.start_offset > self.last_sent[1]
            or self.clock.now_ms() - NOW_MS > 20 * 3600 * 1000  # producers are forgotten after a day
        ):
            self.forget_producer()

    # What must hold at any time

    @invariant()
    def replaying_gives_the_last_value_of_every_key(self) -> None:
        log = self.log
        assert log.log_end_offset == len(self.written)
        found = records(log)
        offsets = [record.offset for record in found]
        assert offsets == sorted(set(offsets))
        for record in found:
            assert (record.key, record.value, record.timestamp_ms) == self.written[record.offset]
        expected = replayed([item[:2] for item in self.written[self.start_offset :]])
        assert replayed([(record.key, record.value) for record in found]) == expected
        self.young_tombstones_are_there(set(offsets))

    def young_tombstones_are_there(self, offsets: set[int]) -> None:
        last = {key: offset for offset, (key, _, _) in enumerate(self.written)}
        for offset in last.values():
            _, value, time = self.written[offset]
            if value is None and offset >= self.start_offset:
                assert offset in offsets or self.clock.now_ms() - time >= DELETE_RETENTION_MS

    @invariant()
    def slices_stay_what_they_were(self) -> None:
        for piece, data in self.slices:
            assert piece.read() == data


CompactedLogAgainstDictionary.TestCase.settings = hypothesis_settings(deadline=None)
TestCompactedLogAgainstDictionary = CompactedLogAgainstDictionary.TestCase
