"""kill -9 of a broker under load: every acknowledged record is there afterwards, once, in order."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing.process import BrokerProcess
from tests.faults.flow import Flow

PARTITIONS = 3
ROUND_SECONDS = 6.0
"""After this long a history is judged and another begins on a new topic: histories have a bound."""

SHORT_SECONDS = 2.0

FEWEST_KILLS = 3


@pytest.mark.claim("A1")
@pytest.mark.timeout(900)
def test_every_acknowledged_record_survives_kill_9(tmp_path: Path, seed: int, long_form: bool) -> None:
    random, kills, acked = Random(seed), 0, 0
    seconds = ROUND_SECONDS if long_form else SHORT_SECONDS
    end = time.monotonic() + (600 if long_form else 0)
    with BrokerProcess(str(tmp_path / "data"), {"log.segment.bytes": "2000000"}) as broker:
        for number in range(10_000):
            round_kills, round_acked = play_round(broker, f"killed-{number}", random, seconds)
            kills, acked = kills + round_kills, acked + round_acked
            if time.monotonic() >= end:
                break
    print(f"{kills} kills, {acked} records acknowledged")


def play_round(broker: BrokerProcess, topic: str, random: Random, seconds: float) -> tuple[int, int]:
    """Load, kills, a full read and the verdict; gives kills and acknowledged records."""
    kills = 0
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(10)
    flow = Flow(broker.bootstrap_servers, topic, PARTITIONS)
    flow.start()
    end = time.monotonic() + seconds
    while kills < FEWEST_KILLS or time.monotonic() < end:
        flow.wait_for_acks()
        threading.Event().wait(random.uniform(0.1, 1.0))  # kill at a random moment of the flow
        broker.kill()
        broker.start()
        kills += 1
    flow.finish()
    flow.judge()
    return kills, flow.acked
