"""A4 for transactions: the broker killed at every write of a commit; afterwards the transaction is whole, or
gone.

A transaction has written to two partitions. strace kills the broker at the k-th
write after the commit was asked for, for k = 1, 2, … until a commit ends without having been killed.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.protocol.errors import ErrorCode
from penstock.testing.history.clients import read_to_the_end
from penstock.testing.history.events import Isolation, Partition
from penstock.testing.process import BrokerProcess
from penstock.wire.errors import WireError
from tests.faults.hand_transactions import Hand

SETTINGS: Final = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
TOPIC: Final = "killed"
CALLS: Final = ("pwrite64", "openat", "fsync", "fdatasync")
MOST_STEPS: Final = 40
SECONDS: Final = 30.0

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


class Tracer:
    """strace on a running broker, which kills it at the k-th system call of a kind."""

    def __init__(self, pid: int, call: str, number: int) -> None:
        injected = f"inject={call}:signal=KILL:when={number}"
        command = ["strace", "-f", "-p", str(pid), "-o", "/dev/null", "-e", f"trace={call}", "-e", injected]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        told = self._process.stderr.readline()
        if "attached" not in told:
            self._process.kill()
            pytest.skip(f"strace may not attach to a process: {told.strip()}")

    def close(self) -> None:
        # Not asked to end, but ended: strace waits for ever for threads of a process that it has killed.
        self._process.kill()
        self._process.communicate(timeout=SECONDS)


@pytest.mark.claim("A4")
@pytest.mark.timeout(900)
def test_a_commit_killed_at_any_write_is_whole_or_gone(tmp_path: Path, long_form: bool) -> None:
    for version in (1, 2) if long_form else (2,):
        play_all(tmp_path / str(version), version, CALLS if long_form else CALLS[:1])


def play_all(place: Path, version: int, calls: tuple[str, ...]) -> None:
    kills = 0
    with BrokerProcess(str(place), SETTINGS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(10)
        expected: list[list[bytes]] = [[], []]
        for call in calls:
            for step in range(1, MOST_STEPS):
                killed = play(broker, version, call, step, expected)
                if not killed:
                    break
                kills += 1
            else:
                pytest.fail(f"a commit with more than {MOST_STEPS} calls of {call}")
    print(f"version {version}: {kills} kills")
    assert kills >= 4  # the decision, two markers, and the completion


def play(broker: BrokerProcess, version: int, call: str, step: int, expected: list[list[bytes]]) -> bool:
    """One transaction, killed at one call; `expected` is what counts so far. Whether it was killed."""
    servers, value = broker.bootstrap_servers, b"%s/%d" % (call.encode(), step)
    hand = Hand(servers, "tx", version)
    hand.find_coordinator()
    producer = hand.init()
    for index in range(2):
        hand.write(producer, TOPIC, index, value)
    tracer = Tracer(broker.pid, call, step)
    try:
        code = ErrorCode(hand.call(hand.end_frame(producer, commit=True)).error_code)
        assert code is ErrorCode.NONE
        answered = True
    except WireError:
        answered = False
    finally:
        tracer.close()
    killed = not answered or not is_alive(servers)
    if killed:
        broker.kill()
        broker.start()
    hand.close()
    # A new life of the producer: what was decided is finished first, what was not is aborted.
    heir = Hand(broker.bootstrap_servers, "tx", version)
    heir.find_coordinator()
    heir.init()
    heir.close()
    judge(broker.bootstrap_servers, value, expected, must_be_there=answered)
    return killed


def is_alive(servers: str) -> bool:
    try:
        hand = Hand(servers, "tx", 1)
        hand.find_coordinator()
        hand.close()
    except WireError:
        return False
    return True


def judge(servers: str, value: bytes, expected: list[list[bytes]], *, must_be_there: bool) -> None:
    places = [Partition(TOPIC, 0), Partition(TOPIC, 1)]
    finals = read_to_the_end(servers, places, isolation=Isolation.READ_COMMITTED, seconds=SECONDS)
    found = [[record.value for record in final.records] for final in finals]
    there = [values[len(before) :] == [value] for values, before in zip(found, expected, strict=True)]
    gone = found == expected
    assert all(there) or (gone and not must_be_there), (value, found, expected)
    if all(there):
        for values in expected:
            values.append(value)
