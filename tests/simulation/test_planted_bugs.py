"""Bugs planted in the broker of one node: the checker notices each, by the history alone."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import pytest
from crc32c import crc32c

from penstock.replication.partition import Partition
from penstock.storage.incoming import ExaminedBatches
from penstock.storage.log import Log
from penstock.storage.outcomes import Appended
from penstock.storage.producers import ProducerBatch, Producers
from penstock.storage.tail import PlacedBatch, PureTail
from penstock.testing.history import History, Rule, Violation, check
from penstock.testing.simulation.one_node import TOPIC, OneNodeRun

RUN_MS = 10_000.0
SEEDS = 10
EVERY = 20
CRC_POSITION = 17
CRC_BEGIN = 21

Plant = Callable[[pytest.MonkeyPatch], None]


def acknowledge_before_the_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """`log.flush.interval.messages=1` is not heeded; a power cut takes what was acknowledged."""
    original = Log.flush
    monkeypatch.setattr(Log, "flush", lambda self: None if TOPIC in self.path else original(self))


def forget_what_producers_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Producers, "check", lambda self, header, guard: None)


def cut_too_much_in_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an unclean stop the last whole batch goes as if it were torn, and its offsets are given again."""
    original = Log.open.__func__  # type: ignore[attr-defined]

    def opened(cls: type[Log], *arguments: Any, clean: bool, **named: Any) -> Log:
        log: Log = original(cls, *arguments, clean=clean, **named)
        if not clean and TOPIC in log.path:
            log.truncate_to(log.log_end_offset - 1)
        return log

    monkeypatch.setattr(Log, "open", classmethod(opened))


def answer_an_old_high_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    """One fetch in twenty is answered from a stale cache."""
    original, number = Partition.fetch, itertools.count(1)

    def fetch(self: Partition, *arguments: Any, **named: Any) -> Any:
        fetched = original(self, *arguments, **named)
        if next(number) % EVERY:
            return fetched
        return fetched._replace(high_watermark=fetched.high_watermark // 2)

    monkeypatch.setattr(Partition, "fetch", fetch)


def alter_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch in twenty is stored with another digit at the end, under a checksum that holds."""
    original, number = Log.append_produced, itertools.count(1)

    def append(self: Log, examined: ExaminedBatches, **named: Any) -> Appended:
        batches = examined.data
        if next(number) % EVERY == 0:
            batches[len(batches) - 2] ^= 1  # before the last byte, which says that there are no headers
            struct.pack_into(">I", batches, CRC_POSITION, crc32c(batches[CRC_BEGIN:]))
        return original(self, examined, **named)

    monkeypatch.setattr(Log, "append_produced", append)


def answer_a_duplicate_with_a_wrong_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the state remembered where a batch ended instead of where it began."""
    original = Producers.check

    def checked(self: Producers, header: Any, guard: Any) -> ProducerBatch | None:
        first_copy = original(self, header, guard)
        return first_copy and first_copy._replace(last_offset=first_copy.last_offset + 1)

    monkeypatch.setattr(Producers, "check", checked)


BUGS: list[tuple[Plant, set[Rule]]] = [
    (acknowledge_before_the_flush, {Rule.ONE_VALUE_PER_OFFSET, Rule.ACKED_IS_THERE, Rule.WATERMARKS_GROW}),
    (forget_what_producers_sent, {Rule.NO_DUPLICATE}),
    (cut_too_much_in_recovery, {Rule.ONE_VALUE_PER_OFFSET, Rule.ACKED_IS_THERE, Rule.WATERMARKS_GROW}),
    (answer_an_old_high_watermark, {Rule.WATERMARKS_GROW}),
    (alter_a_record, {Rule.ACKED_IS_THERE}),
    (answer_a_duplicate_with_a_wrong_offset, {Rule.ACKED_IS_THERE}),
]


def give_an_offset_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch in twenty that the tail takes gets the last offset of the batch before it."""
    original, number = PureTail._write, itertools.count(1)

    def write(self: PureTail, *arguments: Any) -> PlacedBatch | None:
        if self._end_offset and next(number) % EVERY == 0:
            self._end_offset -= 1
        return original(self, *arguments)

    monkeypatch.setattr(PureTail, "_write", write)


def take_any_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    original = PureTail._is_next
    monkeypatch.setattr(
        PureTail,
        "_is_next",
        lambda self, terms, header: original(self, terms, header._replace(producer_id=-1)),
    )


def answer_before_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tail writes a batch when the next one comes, or when Python looks; a kill takes it."""
    opened, entered = PureTail.open, PureTail.enter

    def open_late(self: PureTail, file: Any, *arguments: Any, **named: Any) -> None:
        opened(self, _Late(file), *arguments, **named)  # type: ignore[arg-type]

    def enter(self: PureTail, *, appends: bool | None) -> None:
        if self._terms is not None and isinstance(self._terms.file, _Late):
            self._terms.file.catch_up()
        entered(self, appends=appends)

    monkeypatch.setattr(PureTail, "open", open_late)
    monkeypatch.setattr(PureTail, "enter", enter)


class _Late:
    """A file that is written to one append later."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._data: list[bytes] = []

    def append(self, data: Any) -> None:
        self.catch_up()
        self._data.append(bytes(data))

    def catch_up(self) -> None:
        while self._data:
            self._file.append(self._data.pop())


TAIL_BUGS: list[tuple[Plant, set[Rule]]] = [
    (give_an_offset_twice, {Rule.ONE_VALUE_PER_OFFSET, Rule.ACKED_IS_THERE}),
    (take_any_sequence, {Rule.NO_DUPLICATE}),
    (answer_before_the_write, {Rule.ONE_VALUE_PER_OFFSET, Rule.ACKED_IS_THERE, Rule.WATERMARKS_GROW}),
]


@pytest.mark.claim("A12")
@pytest.mark.parametrize(("plant", "rules"), TAIL_BUGS, ids=[plant.__name__ for plant, _ in TAIL_BUGS])
def test_a_bug_planted_in_the_tail_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    plant: Plant,
    rules: set[Rule],
) -> None:
    """With kills and no power cuts: where every batch is flushed, the tail takes none."""
    plant(monkeypatch)
    for seed in range(1, SEEDS + 1):
        history = OneNodeRun(seed, power_cuts=False).play(RUN_MS)
        violations = check(history)
        if violations:
            assert rules & {violation.rule for violation in violations}, list(map(str, violations))
            found = told(history, violations)
            record_property("noticed", f"seed {seed}, {found}")
            print(f"{plant.__name__}: seed {seed}, {found}\n  {violations[0]}")
            return
    pytest.fail(f"not noticed in {SEEDS} runs")


@pytest.mark.claim("A12")
@pytest.mark.parametrize(("plant", "rules"), BUGS, ids=[plant.__name__ for plant, _ in BUGS])
def test_a_planted_bug_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    plant: Plant,
    rules: set[Rule],
) -> None:
    plant(monkeypatch)
    for seed in range(1, SEEDS + 1):
        history = OneNodeRun(seed, power_cuts=True).play(RUN_MS)
        violations = check(history)
        if violations:
            assert rules & {violation.rule for violation in violations}, list(map(str, violations))
            found = told(history, violations)
            record_property("noticed", f"seed {seed}, {found}")
            print(f"{plant.__name__}: seed {seed}, {found}\n  {violations[0]}")
            return
    pytest.fail(f"not noticed in {SEEDS} runs")


def test_without_a_bug_nothing_is_noticed() -> None:
    history = OneNodeRun(1, power_cuts=True).play(RUN_MS)
    assert check(history) == []


def told(history: History, violations: list[Violation]) -> str:
    """When the history first held a proof. What is lost is known at the end only."""
    end = len(history.events) - 1
    proofs = [
        max(violation.events)
        for violation in violations
        if violation.rule is not Rule.ACKED_IS_THERE and len(violation.events) > 1
    ]
    first = min(proofs, default=end)
    rules = sorted({violation.rule.value for violation in violations})
    return f"event {first} of {end + 1}, second {history.events[first].time:.1f}, rules {', '.join(rules)}"
