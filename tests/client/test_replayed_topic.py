"""A replayed topic by itself: two writers, kills, restarts of the broker, losers restored, gaps told."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.client.errors import RecordTooLarge, ReplayFailed, UnfitTopic
from penstock.client.fencing import BEFORE_ALL, HEADER, Mark
from penstock.client.latest_by_key import BytesCodec, LatestByKey
from penstock.client.messages import Messages
from penstock.client.replayed_settings import ReplayedTopicSettings
from penstock.client.replayed_topic import Decision, ReplayedTopic, View
from penstock.client.sending import NewRecord
from penstock.testing import Broker
from tests.client.replayed_writer import LAST, State, Topic, replayed, take_number

Record = tuple[bytes, bytes | None]


def put(key: bytes, value: bytes | None) -> Callable[[State], Decision[Record, None]]:
    return lambda _state: Decision([(key, value)], None)


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def topic(numbers: Iterator[int]) -> str:
    return f"replayed-{next(numbers)}"


def test_what_was_changed_is_there_at_once_and_after_a_new_start(bootstrap_servers: str, topic: str) -> None:
    with closing(replayed(bootstrap_servers, topic)) as one:
        one.change(put(b"a", b"1"))
        one.change(put(b"b", b"2"))
        one.change(put(b"a", None))
        assert dict(one.view.state.values) == {b"b": b"2"}
    with closing(replayed(bootstrap_servers, topic)) as again:
        assert dict(again.view.state.values) == {b"b": b"2"}


def count_up(state: State) -> Decision[Record, int]:
    """Two records, as `take_number` writes them."""
    number = int(state.values.get(LAST, b"0")) + 1
    return Decision([(b"item-%d" % number, b"x"), (LAST, b"%d" % number)], number)


def test_several_changes_are_written_together_each_on_what_those_before_leave(
    bootstrap_servers: str, topic: str
) -> None:
    def refuse(_state: State) -> Decision[Record, None]:
        raise ValueError("no")

    with closing(replayed(bootstrap_servers, topic)) as one:
        answers = one.change_all([count_up, refuse, count_up, put(b"a", b"1"), count_up])
        first = answers[0]
        assert [answers[2], answers[3], answers[4]] == [first + 1, None, first + 2]
        assert isinstance(answers[1], ValueError)
        assert one.view.state.values[b"a"] == b"1"
        assert one.change_all([refuse])[0].args == ("no",)
    with closing(replayed(bootstrap_servers, topic)) as again:
        assert again.change(count_up) == first + 3


def test_a_record_that_is_too_large_fails_alone(bootstrap_servers: str, topic: str) -> None:
    with closing(replayed(bootstrap_servers, topic)) as one:
        answers = one.change_all([put(b"a", b"1"), put(b"b", bytes(2_000_000)), put(b"c", b"3")])
        assert answers[0] is answers[2] is None
        assert isinstance(answers[1], RecordTooLarge)
        assert set(one.view.state.values) == {b"a", b"c"}


def test_two_processes_that_write_together_give_every_number_once(bootstrap_servers: str, topic: str) -> None:
    def work(own: Topic) -> list[int]:
        return [number for _ in range(20) for number in own.change_all([count_up] * 5)]

    with (
        closing(replayed(bootstrap_servers, topic)) as one,
        closing(replayed(bootstrap_servers, topic)) as other,
        ThreadPoolExecutor(2) as pool,
    ):
        found = sorted(chain.from_iterable(pool.map(work, (one, other))))
    assert found == list(range(found[0], found[0] + 200))


def test_a_state_that_was_read_does_not_change(bootstrap_servers: str, topic: str) -> None:
    with closing(replayed(bootstrap_servers, topic)) as one:
        one.change(put(b"a", b"1"))
        before = one.view.state
        one.change(put(b"a", b"2"))
        assert before.values[b"a"] == b"1"


def test_readers_are_not_kept_waiting_while_a_change_is_decided(bootstrap_servers: str, topic: str) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def decide(_state: State) -> Decision[Record, None]:
        inside.set()
        assert go_on.wait(20)
        return Decision([], None)

    with closing(replayed(bootstrap_servers, topic)) as one, ThreadPoolExecutor(1) as pool:
        change = pool.submit(one.change, decide)
        assert inside.wait(20)
        with closing(replayed(bootstrap_servers, topic)) as other:
            other.change(put(b"a", b"1"))
            wait_until(lambda: one.view.state.values.get(b"a") == b"1")
        go_on.set()
        change.result(20)


def test_two_writers_give_every_number_once(bootstrap_servers: str, topic: str) -> None:
    with (
        closing(replayed(bootstrap_servers, topic)) as one,
        closing(replayed(bootstrap_servers, topic)) as other,
        ThreadPoolExecutor(8) as pool,
    ):
        given = list(pool.map(lambda i: take_number((one, other)[i % 2], "x"), range(100)))
        assert sorted(given) == list(range(1, 101))
        views = views_after_the_same_decision(one, other)
        assert dict(views[0].state.values) == dict(views[1].state.values)
        wait_until(lambda: all(each.view.state.values[b"last"] == b"100" for each in (one, other)))


def views_after_the_same_decision(one: Topic, other: Topic) -> list[View[State]]:
    """Each view is taken once. A decision of two records is half read for a moment: then its view is not
    complete."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        views = [one.view, other.view]
        if views[0].latest == views[1].latest and all(view.complete for view in views):
            return views
    raise AssertionError("the two never stood behind the same decision")


def test_a_decision_that_lost_is_restored_though_nobody_writes(
    bootstrap_servers: str, topic: str, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.client.replayed_topic.RESTORE_AFTER_S", 0.2)
    with closing(replayed(bootstrap_servers, topic)) as one:
        one.change(put(b"a", b"1"))
        late = Mark(b"late".ljust(16), BEFORE_ALL)  # of a writer that had read nothing
        messages.produce(topic, NewRecord(b"wrong", b"a", ((HEADER, late.encode()),), 0))
        wait_until(lambda: Admin(bootstrap_servers).end_offsets([(topic, 0)])[topic, 0] == 3)
        assert dict(one.view.state.values) == {b"a": b"1"}
    last = messages.page(topic).messages[0]
    assert (last.key, last.value) == (b"a", b"1")


def test_keys_that_another_process_restores_this_moment_are_no_decision(
    bootstrap_servers: str, topic: str, admin: Admin
) -> None:
    class Racing(dict[bytes, Record]):
        """There when it is looked at, gone when it is written."""

        def __bool__(self) -> bool:
            return True

    with closing(replayed(bootstrap_servers, topic)) as one:
        one._lost = Racing()
        assert one.change(lambda _state: Decision([], "answer")) == "answer"
        assert admin.end_offsets([(topic, 0)])[topic, 0] == 0


def test_what_another_program_writes_is_taken_and_what_is_no_record_is_passed_over(
    bootstrap_servers: str, topic: str, messages: Messages
) -> None:
    with closing(replayed(bootstrap_servers, topic)) as one:
        one.change(put(b"a", b"1"))
        messages.produce(topic, NewRecord(b"2", b"a"))
        wait_until(lambda: one.view.state.values[b"a"] == b"2")
        one.change(put(b"b", b"3"))
        assert one.view.state.values[b"b"] == b"3"


def test_a_log_that_ends_with_a_transaction_marker_is_read_to_its_end(
    bootstrap_servers: str, topic: str, admin: Admin
) -> None:
    from confluent_kafka import Producer

    admin.create_topic(topic, 1, 1, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic, b"1", b"a")
    producer.commit_transaction(10)
    started = time.monotonic()
    with closing(replayed(bootstrap_servers, topic)) as one:
        assert time.monotonic() - started < 30
        assert one.view.state.values[b"a"] == b"1"


def test_a_record_that_is_too_large_is_refused_before_anything_is_sent(
    bootstrap_servers: str, topic: str, admin: Admin
) -> None:
    with closing(replayed(bootstrap_servers, topic)) as one:
        with pytest.raises(RecordTooLarge):
            one.change(lambda _: Decision([(b"a", b"1"), (b"b", b"x" * 2_000_000)], None))
        assert admin.end_offsets([(topic, 0)])[topic, 0] == 0
        one.change(put(b"a", b"2"))


def test_a_topic_that_would_lose_records_is_refused(
    bootstrap_servers: str, new_topic: Callable[..., str]
) -> None:
    for name in (
        new_topic(),
        new_topic(2, cleanup_policy="compact"),
        new_topic(cleanup_policy="compact,delete"),
    ):
        with pytest.raises(UnfitTopic, match=r"needs cleanup\.policy=compact and one partition"):
            replayed(bootstrap_servers, name)


class Explosive(LatestByKey[bytes, bytes]):
    """A state that cannot replay."""

    def replay(self, record: Record) -> Explosive:
        raise ValueError(f"cannot replay {record!r}")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_state_that_cannot_replay_is_told_and_ends_every_write(bootstrap_servers: str, topic: str) -> None:
    told: list[str] = []
    one: ReplayedTopic[Record, Explosive] = ReplayedTopic(
        ReplayedTopicSettings(bootstrap_servers, topic), BytesCodec(), Explosive(), told.append
    )
    one.start()
    with closing(one):
        for _ in range(2):
            with pytest.raises(ReplayFailed, match="cannot replay"):
                one.change(lambda _: Decision([(b"a", b"1")], None))
    assert len(told) == 1


def test_closing_ends_a_change_that_waits(bootstrap_servers: str, topic: str) -> None:
    one = replayed(bootstrap_servers, topic)
    one.close()
    with pytest.raises(ReplayFailed, match="was closed"):
        one.change(put(b"a", b"1"))
    assert not one._reader.is_alive()


def test_a_restarted_broker_is_survived(tmp_path: Path, topic: str) -> None:
    first = Broker(str(tmp_path)).start()
    port = first.bootstrap_servers.split(":")[1]
    settings = {"listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    with closing(replayed(first.bootstrap_servers, topic)) as one:
        one.change(put(b"a", b"1"))
        first.stop()
        with Broker(str(tmp_path), settings):
            one.change(put(b"b", b"2"))
            assert dict(one.view.state.values) == {b"a": b"1", b"b": b"2"}


def test_a_topic_that_was_made_anew_is_told_and_ends_every_write(
    bootstrap_servers: str, topic: str, admin: Admin
) -> None:
    told: list[str] = []
    settings = ReplayedTopicSettings(bootstrap_servers, topic)
    one: ReplayedTopic[Record, State] = ReplayedTopic(settings, BytesCodec(), State(), told.append)
    one.start()
    with closing(one):
        for _ in range(3):
            one.change(put(b"a", b"1"))
        admin.delete_topic(topic)
        admin.create_topic(topic, 1, 1, {"cleanup.policy": "compact"})
        wait_until(lambda: bool(told))
        with pytest.raises(ReplayFailed, match="has lost records"):
            one.change(put(b"b", b"2"))


def writer(bootstrap_servers: str, topic: str, name: str, count: int) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.client.replayed_writer",
        bootstrap_servers,
        topic,
        name,
        str(count),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_writers_that_are_killed_leave_a_state_that_all_agree_on(bootstrap_servers: str, topic: str) -> None:
    given: list[int] = []
    for round_number in range(3):
        killed = writer(bootstrap_servers, topic, f"killed-{round_number}", 10**6)
        other = writer(bootstrap_servers, topic, f"other-{round_number}", 30)
        assert killed.stdout is not None
        given += [int(killed.stdout.readline()) for _ in range(20)]
        killed.kill()
        given += [int(line) for line in killed.stdout if line.endswith("\n")]
        killed.wait(10)
        killed.stdout.close()
        out, _ = other.communicate(timeout=60)
        given += map(int, out.split())
    assert len(given) == len(set(given))
    with closing(replayed(bootstrap_servers, topic)) as one:
        values = dict(one.view.state.values)
        last = int(values[LAST])
        assert max(given) <= last
        assert {b"item-%d" % number for number in range(1, last + 1)} <= set(values)
