"""Three logs through the same steps: one appends by its native tail, one by the pure twin, one in Python.

All of them must give the same offsets and errors, and be the same whenever one looks: files, indexes,
producers. Steps are appends in and out of order, rolls, cuts, other settings, readers, kills and stops.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from random import Random
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.clock import SystemClock
from penstock.protocol.errors import KafkaError
from penstock.records.batch import read_header
from penstock.storage import tail as tails
from penstock.storage.disk import Disk, OsDisk
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from tests.storage.builders import NOW_MS, batch, settings

pytestmark = pytest.mark.skipif(tails.NATIVE is None, reason="there is no native tail to compare")

SETTINGS = settings(
    segment_bytes=3_000, index_interval_bytes=100, retention_ms=-1, segment_ms=20_000, segment_jitter_ms=0
)
LEADER_EPOCH = 3


class Subject:
    """A log that is killed and opened again, and how it appends."""

    def __init__(self, disk: Disk, path: str, *, by_tail: bool) -> None:
        self.disk, self.path, self.by_tail = disk, path, by_tail
        self.settings = SETTINGS
        self.taken = 0
        disk.make_dir(path)
        self.open(clean=True)

    def open(self, *, clean: bool) -> None:
        self.log = Log.open(self.disk, self.path, self.settings, SystemClock(), clean=clean, random=Random(1))

    def append(self, data: bytes) -> Any:
        """Offsets, or the code of the refusal; `taken` counts what the tail took."""
        view = memoryview(bytearray(data))
        if self.by_tail and (placed := self.log.lock.append(view)) is not None:
            self.taken += 1
            last_offset = placed[0] + read_header(view).last_offset_delta
            return placed[0], last_offset, placed[1]
        assert bytes(view) == data, "a batch that was not taken is as it came"
        producer_id = read_header(view).producer_id
        try:
            with self.log.to_append:
                examined = self.log.examine(view)
                appended = self.log.append_produced(examined, leader_epoch=LEADER_EPOCH)
                if self.by_tail:
                    self.log.open_tail(LEADER_EPOCH, producer_id)
        except KafkaError as error:
            return error.code
        return appended.base_offset, appended.last_offset, appended.log_start_offset

    def state(self) -> Any:
        with self.log.to_read:
            log = self.log
            segments = [
                (each.base_offset, each.size, each.latest_timestamp(), each.offset_of_max_timestamp)
                for each in log._segments
            ]
            indexes = [
                (each.indexes.offsets.to_bytes(), each.indexes.times.to_bytes()) for each in log._segments
            ]
            ends = log.log_start_offset, log.log_end_offset, log.high_watermark, log.last_stable_offset
            contents = [self.disk.read_bytes(each.path) for each in log._segments]
            return ends, segments, indexes, contents, log.producers.active(), log.producers.to_bytes()


class SameLogs(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 100))
    def begin(self, seed: int) -> None:
        self.place = tempfile.TemporaryDirectory()
        native = Subject(OsDisk(), os.path.join(self.place.name, "topic-0"), by_tail=True)
        pure = Subject(SimDisk(Random(seed)), "/data/topic-0", by_tail=True)
        alone = Subject(SimDisk(Random(seed)), "/data/topic-0", by_tail=False)
        self.subjects = [native, pure, alone]
        self.now_ms = NOW_MS
        self.sequences = {1: 0, 2: 0}

    def teardown(self) -> None:
        if hasattr(self, "place"):
            self.place.cleanup()

    def each(self, act: Any) -> Any:
        """What all of them give."""
        given = [act(subject) for subject in self.subjects]
        assert given[0] == given[1] == given[2]
        return given[0]

    @rule(
        sent=st.lists(
            st.tuples(
                st.sampled_from([-1, 1, 1, 2]),
                st.integers(1, 3),
                st.sampled_from([0, 0, 0, 0, 0, 0, 0, 1, -1, -2]),
                st.sampled_from([0] * 9 + [1]),
                st.integers(-50, 1_500),
            ),
            min_size=1,
            max_size=12,
        ),
        size=st.integers(0, 150),
    )
    def append(self, sent: list[tuple[int, int, int, int, int]], size: int) -> None:
        """Batches of a producer id, so many records, so far from the sequence that is next, of an epoch."""
        for producer_id, count, off, epoch, later_ms in sent:
            self.now_ms += later_ms
            options = {}
            if producer_id >= 0:
                sequence = max(0, self.sequences[producer_id] + off * count)
                options = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
            data = bytes(batch(*[bytes(size)] * count, timestamp_ms=self.now_ms, **options))
            outcome = self.each(lambda subject, data=data: subject.append(data))
            if producer_id >= 0 and isinstance(outcome, tuple):
                self.sequences[producer_id] = options["base_sequence"] + count

    @rule()
    def look(self) -> None:
        self.each(lambda subject: subject.state())

    @rule()
    def look_without_the_lock(self) -> None:
        self.each(lambda subject: (subject.log.log_end_offset, subject.log.high_watermark))

    @rule(back=st.integers(0, 6))
    def cut(self, back: int) -> None:
        def act(subject: Subject) -> None:
            with subject.log.lock:
                subject.log.truncate_to(max(0, subject.log.log_end_offset - back))

        self.each(act)

    @rule()
    def roll(self) -> None:
        def act(subject: Subject) -> None:
            with subject.log.lock:
                subject.log.roll()

        self.each(act)

    @rule(up=st.integers(0, 4))
    def delete_records(self, up: int) -> None:
        def act(subject: Subject) -> None:
            with subject.log.lock:
                log = subject.log
                log.delete_records_before(min(log.log_start_offset + up, log.high_watermark))

        self.each(act)

    @rule(segment_bytes=st.sampled_from([900, 3_000, 8_000]))
    def reconfigure(self, segment_bytes: int) -> None:
        def act(subject: Subject) -> None:
            subject.settings = dataclasses.replace(subject.settings, segment_bytes=segment_bytes)
            with subject.log.lock:
                subject.log.reconfigure(subject.settings)

        self.each(act)

    @rule()
    def flush(self) -> None:
        def act(subject: Subject) -> None:
            with subject.log.to_read:
                subject.log.flush()

        self.each(act)

    @rule()
    def kill(self) -> None:
        """Nothing that was acknowledged is gone, told of or not."""
        ends = self.each(lambda subject: subject.log.log_end_offset)
        for subject in self.subjects:
            if isinstance(subject.disk, SimDisk):
                subject.disk.kill()
            subject.open(clean=False)
        assert self.each(lambda subject: subject.log.log_end_offset) == ends

    @rule()
    def stop(self) -> None:
        def act(subject: Subject) -> None:
            with subject.log.lock:
                subject.log.close()
            subject.open(clean=True)

        self.each(act)

    @invariant()
    def nothing_is_open_that_was_not_opened(self) -> None:
        if hasattr(self, "subjects"):
            native, pure, alone = self.subjects
            assert native.log.lock.is_open == pure.log.lock.is_open
            assert native.taken == pure.taken
            assert alone.taken == 0


TestSameLogs = SameLogs.TestCase
TestSameLogs.settings = hypothesis_settings(max_examples=25, stateful_step_count=30, deadline=None)
