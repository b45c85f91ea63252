"""A log through any sequence of appends, rolls, cuts, restarts, kills and crashes, against a plain list.

After a clean stop and after a kill nothing is missing; after a crash the log is a prefix of what was
written, at least up to what had been flushed. Offsets, timestamps and producers are checked along the way.
"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.records.batch import iter_headers
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, StillClock, batch, records, settings

TOPIC_ID = bytes(range(16))
SETTINGS = settings(segment_bytes=700, index_interval_bytes=100, retention_ms=-1)


class LogAgainstList(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = StillClock()
        self.start_offset = 0
        # The value at each offset from zero on, with the base offset of the batch it came in.
        self.written: list[tuple[bytes, int]] = []
        self.producer_id = 1
        self.next_sequence = 0
        self.last_sent: tuple[list[bytes], int] | None = None

    @rule(seed=st.integers(0, 2**32))
    @precondition(lambda self: not hasattr(self, "disk"))
    def begin(self, seed: int) -> None:
        self.disk = SimDisk(Random(seed))
        self.start()
        self.logs.create("topic", 0, TOPIC_ID, SETTINGS)

    @property
    def log(self) -> Log:
        log = self.logs.get("topic", 0)
        assert log is not None
        return log

    def start(self) -> None:
        self.logs = Logs(self.disk, ["/data"], self.clock, random=Random(1))
        self.logs.open_directories()
        self.logs.open_logs(lambda _: SETTINGS)

    def running(self) -> bool:
        return hasattr(self, "disk")

    # What is done to a log

    @rule(count=st.integers(1, 3), size=st.integers(0, 150), idempotent=st.booleans())
    @precondition(running)
    def append(self, count: int, size: int, idempotent: bool) -> None:
        base = len(self.written)
        values = [b"%d:" % (base + index) + bytes(size) for index in range(count)]
        options = {}
        if idempotent:
            options = {
                "producer_id": self.producer_id,
                "producer_epoch": 0,
                "base_sequence": self.next_sequence,
            }
            self.last_sent = values, base
            self.next_sequence += count
        data = batch(*values, timestamp_ms=NOW_MS + base, **options)
        appended = self.log.append_produced(self.log.examine(data), leader_epoch=0)
        assert (appended.base_offset, appended.last_offset, appended.duplicate) == (
            base,
            base + count - 1,
            False,
        )
        self.written += [(value, base) for value in values]

    @rule()
    @precondition(lambda self: self.running() and self.last_sent is not None)
    def send_again(self) -> None:
        assert self.last_sent is not None
        values, base = self.last_sent
        sequence = self.next_sequence - len(values)
        data = batch(*values, producer_id=self.producer_id, producer_epoch=0, base_sequence=sequence)
        appended = self.log.append_produced(self.log.examine(data), leader_epoch=0)
        assert (appended.base_offset, appended.duplicate) == (base, True)

    @rule()
    @precondition(running)
    def roll(self) -> None:
        self.log.roll()

    @rule()
    @precondition(running)
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == len(self.written)

    @rule(seconds=st.integers(0, 400))
    @precondition(running)
    def keep_house(self, seconds: int) -> None:
        self.clock.pass_ms(seconds * 1000)
        self.logs.tick()

    @rule(fraction=st.floats(0, 1))
    @precondition(running)
    def truncate(self, fraction: float) -> None:
        offset = self.start_offset + int(fraction * (len(self.written) - self.start_offset))
        self.log.truncate_to(offset)
        if offset < len(self.written):
            self.forget_from(self.written[offset][1])

    @rule(fraction=st.floats(0, 1))
    @precondition(running)
    def delete_records(self, fraction: float) -> None:
        self.start_offset += int(fraction * (len(self.written) - self.start_offset))
        self.log.delete_records_before(self.start_offset)
        self.clock.pass_ms(300_000)
        self.logs.tick()

    def forget_from(self, end: int) -> None:
        if end < len(self.written):
            del self.written[end:]
            self.forget_producer()
        self.start_offset = min(self.start_offset, end)

    def forget_producer(self) -> None:
        self.producer_id += 1
        self.next_sequence = 0
        self.last_sent = None

    # How a process ends

    @rule()
    @precondition(running)
    def stop_cleanly(self) -> None:
        self.logs.close()
        self.disk.crash()
        self.start()

    @rule()
    @precondition(running)
    def kill(self) -> None:
        self.disk.kill()
        self.start()

    @rule()
    @precondition(running)
    def crash(self) -> None:
        flushed = self.log.recovery_point
        if flushed < len(self.written):
            # Its last batch may be lost, even where the log goes on behind it because its records were
            # deleted.
            self.forget_producer()
        self.disk.crash()
        self.start()
        assert flushed <= self.log.log_end_offset <= len(self.written)
        self.forget_from(self.log.log_end_offset)

    # What must hold at any time

    @invariant()
    def every_record_is_at_its_offset(self) -> None:
        if not self.running():
            return
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start_offset, len(self.written))
        found = [(record.offset, record.value) for record in records(log)]
        assert found == [
            (offset, self.written[offset][0]) for offset in range(self.start_offset, len(self.written))
        ]

    @rule(fraction=st.floats(0, 1), limit=st.floats(0, 1), max_bytes=st.integers(0, 1000))
    @precondition(lambda self: self.running() and self.start_offset < len(self.written))
    def read(self, fraction: float, limit: float, max_bytes: int) -> None:
        count = len(self.written) - self.start_offset
        offset = self.start_offset + int(fraction * (count - 1))
        upto = self.start_offset + int(limit * count)
        piece = self.log.read(offset, max_bytes, upto=upto)
        found = [] if piece is None else [header for _, header in iter_headers(piece.read())]
        assert all(header.last_offset < upto for header in found)
        if found:
            assert found[0].base_offset == self.written[offset][1]

    @rule(fraction=st.floats(0, 1))
    @precondition(lambda self: self.running() and self.start_offset < len(self.written))
    def find_by_time(self, fraction: float) -> None:
        # Record number n carries NOW_MS + n, except that a crash or a cut lets numbers come again.
        offset = self.start_offset + int(fraction * (len(self.written) - self.start_offset - 1))
        assert self.log.offset_for_time(NOW_MS + offset) == (NOW_MS + offset, offset)


TestLogAgainstList = LogAgainstList.TestCase
