"""The threads that drive coordinators: timers in time, loading in the background, no blame for a pause."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.runtime import Runtime
from penstock.coordinator.shard_log import Entry, Marker
from penstock.protocol.errors import KafkaError
from penstock.records.record import Record, encode_batch
from penstock.server.following.coordinators import CoordinatorDriver
from tests.coordinator.memory_log import MemoryLog

DEADLINE_SECONDS = 10.0


class _JumpingClock:
    """The machine's clock, which somebody may set forward: so it looks to a process that was stopped."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now_ms(self) -> int:
        return round(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


class _Ticks:
    """Notes when its timers ran."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.ran: list[str] = []
        self.records = 0

    def replay(self, entry: Entry) -> None:
        self.records += 1

    def replay_marker(self, marker: Marker) -> None: ...

    def on_loaded(self) -> None: ...

    def on_unloaded(self, error: KafkaError) -> None: ...

    def schedule(self, name: str, delay_ms: int) -> Decision:
        def run() -> Decision:
            self.ran.append(name)
            return NOTHING

        self.context.schedule(name, delay_ms, run)
        return NOTHING


@pytest.fixture
def clock() -> _JumpingClock:
    return _JumpingClock()


@pytest.fixture
def runtime(clock: _JumpingClock) -> Iterator[Runtime[_Ticks]]:
    runtime = Runtime("__ticks", clock, _Ticks)
    driver = CoordinatorDriver(runtime, clock)
    runtime.elect(0, MemoryLog(), epoch=0)
    driver.start()
    yield runtime
    driver.close()


def _ran(runtime: Runtime[_Ticks]) -> list[str]:
    return list(runtime.read(0, lambda state: state.ran).result())


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_timers_run_when_they_are_due_also_one_that_comes_before_the_others(runtime: Runtime[_Ticks]) -> None:
    runtime.submit(0, lambda state: state.schedule("late", 60_000))
    runtime.submit(0, lambda state: state.schedule("soon", 20))
    _until(lambda: _ran(runtime) == ["soon"])


def test_a_pause_of_the_process_postpones_all_timers_by_its_length(
    runtime: Runtime[_Ticks], clock: _JumpingClock
) -> None:
    runtime.submit(0, lambda state: state.schedule("session", 200))
    before = runtime.next_deadline()
    assert before is not None
    time.sleep(0.05)  # the driver is asleep by now
    clock.ahead = 5.0
    _until(lambda: (runtime.next_deadline() or 0) > before + 5)
    assert _ran(runtime) == []
    _until(lambda: _ran(runtime) == ["session"])


def test_a_shard_with_a_past_is_loaded_in_the_background(runtime: Runtime[_Ticks]) -> None:
    log = MemoryLog()
    log.append(memoryview(encode_batch([Record(b"k", b"v")])))
    runtime.elect(1, log, epoch=0)
    _until(lambda: 1 in runtime.active_shards())
    assert runtime.read(1, lambda state: state.records).result() == 1
