"""Shards of a runtime: decide, write, replay, answer when it is committed; load and resign."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.coordinator.runtime import Runtime
from penstock.coordinator.shard_log import Entry, Marker
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record, encode_batch
from tests.coordinator.manual_clock import ManualClock
from tests.coordinator.memory_log import MemoryLog


class _Words:
    """A state that collects the values of its records."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.words: list[str] = []
        self.markers: list[Marker] = []
        self.loaded = False
        self.waiting: list[Promise[str]] = []

    def replay(self, entry: Entry) -> None:
        assert entry.record.value is not None
        self.words.append(f"{entry.record.offset}:{entry.record.value.decode()}")

    def replay_marker(self, marker: Marker) -> None:
        self.markers.append(marker)

    def on_loaded(self) -> None:
        self.loaded = True

    def on_unloaded(self, error: KafkaError) -> None:
        for promise in self.waiting:
            self.context.fail(promise, error)

    def say(self, *words: str) -> tuple[Decision, str]:
        return Decision(tuple(Record(b"k", word.encode()) for word in words)), "said " + " ".join(words)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def runtime(clock: ManualClock) -> Runtime[_Words]:
    return Runtime("__words", clock, _Words)


def _words(runtime: Runtime[_Words], index: int = 0) -> list[str]:
    return list(runtime.read(index, lambda state: state.words).result())


def _code(promise: Promise[str]) -> ErrorCode:
    with pytest.raises(KafkaError) as error:
        promise.result()
    return error.value.code


def test_what_is_decided_is_written_and_replayed_with_its_offsets(runtime: Runtime[_Words]) -> None:
    log = MemoryLog()
    runtime.elect(0, log, epoch=0)
    assert runtime.ask(0, lambda state: state.say("a", "b")).result() == "said a b"
    assert runtime.ask(0, lambda state: state.say("c")).result() == "said c"
    assert _words(runtime) == ["0:a", "1:b", "2:c"]
    assert log.appends == 2


def test_an_answer_waits_for_the_commitment_of_what_it_rests_on(runtime: Runtime[_Words]) -> None:
    log = MemoryLog(commits_at_once=False)
    runtime.elect(0, log, epoch=0)
    written = runtime.ask(0, lambda state: state.say("a"))
    seen = runtime.read(0, lambda state: list(state.words))
    assert (written.done, seen.done) == (False, False)
    log.commit()
    assert (written.result(), seen.result()) == ("said a", ["0:a"])


def test_what_was_never_committed_is_not_answered_with_yes(runtime: Runtime[_Words]) -> None:
    log = MemoryLog(commits_at_once=False)
    runtime.elect(0, log, epoch=0)
    written = runtime.ask(0, lambda state: state.say("a"))
    runtime.resign(0)
    assert _code(written) is ErrorCode.NOT_COORDINATOR


def test_a_write_that_is_refused_changes_nothing(runtime: Runtime[_Words]) -> None:
    log = MemoryLog()
    runtime.elect(0, log, epoch=0)
    log.refusal = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, "two are missing")
    assert _code(runtime.ask(0, lambda state: state.say("a"))) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    log.refusal = None
    assert _words(runtime) == []


def test_a_shard_that_is_not_here_is_led_by_another(runtime: Runtime[_Words]) -> None:
    assert _code(runtime.ask(3, lambda state: state.say("a"))) is ErrorCode.NOT_COORDINATOR


def test_a_shard_with_a_past_answers_that_it_is_loading_until_it_has_read_it(
    runtime: Runtime[_Words],
) -> None:
    log = MemoryLog()
    runtime.elect(0, log, epoch=0)
    runtime.ask(0, lambda state: state.say("a", "b"))
    log.mark(Marker(9, True))
    wanted = []
    runtime.on_load_wanted(lambda: wanted.append(True))
    runtime.elect(0, log, epoch=1)
    assert _code(runtime.read(0, lambda state: "?")) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert wanted == [True]
    assert runtime.is_loading()
    assert runtime.load_next()
    assert not runtime.load_next()
    assert _words(runtime) == ["0:a", "1:b"]
    assert runtime.read(0, lambda state: (state.markers, state.loaded)).result() == ([Marker(9, True)], True)


class _SlowLog(MemoryLog):
    """Reading it takes until somebody says go."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go = threading.Event(), threading.Event()

    def read_all(self) -> Iterator[Entry | Marker]:
        self.reading.set()
        assert self.go.wait(10)
        return super().read_all()


def test_nobody_waits_for_a_shard_that_is_loading(runtime: Runtime[_Words]) -> None:
    log = _SlowLog()
    log.append(memoryview(_batch("a")))
    runtime.elect(0, log, epoch=0)
    loader = threading.Thread(target=runtime.load_next)
    loader.start()
    assert log.reading.wait(10)
    assert _code(runtime.ask(0, lambda state: state.say("b"))) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    log.go.set()
    loader.join(10)
    assert _words(runtime) == ["0:a"]


def test_a_shard_that_was_resigned_while_it_was_loading_stays_away(runtime: Runtime[_Words]) -> None:
    log = _SlowLog()
    log.append(memoryview(_batch("a")))
    runtime.elect(0, log, epoch=0)
    loader = threading.Thread(target=runtime.load_next)
    loader.start()
    assert log.reading.wait(10)
    runtime.resign(0)
    log.go.set()
    loader.join(10)
    assert _code(runtime.ask(0, lambda state: state.say("b"))) is ErrorCode.NOT_COORDINATOR


class _BrokenLog(MemoryLog):
    def read_all(self) -> Iterator[Entry | Marker]:
        yield from super().read_all()
        raise OSError("the disk is gone")


def test_a_shard_that_could_not_be_read_to_the_end_does_not_answer_from_the_beginning(
    runtime: Runtime[_Words],
) -> None:
    log = _BrokenLog()
    log.append(memoryview(_batch("a")))
    runtime.elect(0, log, epoch=0)
    runtime.load_next()
    assert _code(runtime.read(0, lambda state: "?")) is ErrorCode.NOT_COORDINATOR


def test_an_older_election_does_not_undo_a_newer_one(runtime: Runtime[_Words]) -> None:
    runtime.elect(0, MemoryLog(), epoch=5)
    runtime.ask(0, lambda state: state.say("a"))
    runtime.elect(0, MemoryLog(), epoch=5)
    runtime.elect(0, MemoryLog(), epoch=4)
    assert _words(runtime) == ["0:a"]


def test_whoever_waits_in_a_shard_hears_when_it_goes(runtime: Runtime[_Words]) -> None:
    runtime.elect(0, MemoryLog(), epoch=0)
    promise: Promise[str] = Promise()

    def wait(state: _Words) -> Decision:
        state.waiting.append(promise)
        return NOTHING

    runtime.submit(0, wait)
    runtime.resign(0)
    assert _code(promise) is ErrorCode.NOT_COORDINATOR


def test_timers_run_in_their_shard_and_end_with_it(runtime: Runtime[_Words], clock: ManualClock) -> None:
    for index in (0, 1):
        runtime.elect(index, MemoryLog(), epoch=0)
        runtime.submit(index, _schedule)
    assert runtime.next_deadline() == clock.monotonic() + 5
    runtime.resign(1)
    clock.ms += 4_999
    runtime.advance(clock.monotonic())
    assert _words(runtime) == []
    clock.ms += 1
    runtime.advance(clock.monotonic())
    assert _words(runtime) == ["0:tick"]
    assert runtime.next_deadline() is None


def test_one_timer_that_fails_does_not_stop_the_others(runtime: Runtime[_Words], clock: ManualClock) -> None:
    runtime.elect(0, MemoryLog(), epoch=0)

    def schedule(state: _Words) -> Decision:
        state.context.schedule("bad", 1000, lambda: 1 // 0)  # type: ignore[arg-type,return-value]
        return _schedule(state)

    runtime.submit(0, schedule)
    clock.ms += 5000
    runtime.advance(clock.monotonic())
    assert _words(runtime) == ["0:tick"]


def _schedule(state: _Words) -> Decision:
    state.context.schedule("t", 5000, lambda: state.say("tick")[0])
    return NOTHING


def _batch(word: str) -> bytearray:
    return encode_batch([Record(b"k", word.encode())])
