"""A2: the power of one broker fails, and of all at once. Each has an ext4 file system of its own, which is
shut down without a flush: what was not synced is gone, as it never is after kill -9.

With `log.flush.interval.messages=1` an acknowledged record survives all of it. Without, as in Kafka's
default, it survives the cut of one broker, because the others have it; what a cut of all loses is measured.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random
from typing import Final

import pytest

from penstock.testing.cluster import Software
from penstock.testing.history.clients import read_to_the_end
from penstock.testing.history.events import Acked, History, Kind, Send
from tests.faults.clusters import PARTITIONS, RATE, SHORT_RATE, Round
from tests.faults.clusters import software as software
from tests.faults.flow import DEADLINE_SECONDS, Flow
from tests.faults.volumes import Powered, powered

LONG_SECONDS: Final = 600.0
CUTS_OF_A_ROUND: Final = 3
FLUSHED: Final = {"log.flush.interval.messages": "1"}
FLUSHED_RATE: Final = 200
"""Every batch is synced three times, on one disk under all three."""


@pytest.mark.claim("A2")
@pytest.mark.timeout(1800)
def test_what_is_flushed_before_it_is_acknowledged_survives_every_power_cut(
    tmp_path: Path, software: Software, seed: int, long_form: bool
) -> None:
    play(tmp_path, software, Random(seed), long_form, FLUSHED, FLUSHED_RATE, everybody=True)


@pytest.mark.claim("A2")
@pytest.mark.timeout(1800)
def test_without_flushing_the_power_cut_of_one_broker_loses_nothing(
    tmp_path: Path, software: Software, seed: int, long_form: bool
) -> None:
    rate = RATE if long_form else SHORT_RATE
    play(tmp_path, software, Random(seed), long_form, {}, rate, everybody=False)


def play(
    directory: Path,
    software: Software,
    random: Random,
    long_form: bool,
    settings: dict[str, str],
    rate: int,
    *,
    everybody: bool,
) -> None:
    """Cuts of one leader, and of all brokers in turn with them where `everybody` says so."""
    end, cuts, acked = time.monotonic() + (LONG_SECONDS if long_form else 0), [0, 0], 0
    with powered(directory, software, settings) as rig:
        for number in range(10_000):
            with Round(rig.cluster, f"dark-{number}", rate=rate) as played:
                for turn in range(CUTS_OF_A_ROUND if long_form else 1 + everybody):
                    of_all = everybody and turn % 2 == 0
                    cut_power(rig, played, random, of_all=of_all)
                    cuts[of_all] += 1
            acked += played.flow.acked
            rig.cluster.admin.delete_topics([played.topic])[played.topic].result(60)
            if time.monotonic() >= end:
                break
    print(f"{software.name}: {cuts[0]} cuts of one, {cuts[1]} of all, {acked} records acknowledged")


def cut_power(rig: Powered, played: Round, random: Random, *, of_all: bool) -> None:
    victims = (
        list(rig.cluster.brokers)
        if of_all
        else [rig.cluster.leader_of(played.topic, random.randrange(PARTITIONS))]
    )
    threading.Event().wait(random.uniform(0.2, 1.5))  # at a random moment of the flow
    rig.cut(victims)
    if not of_all:
        played.wait_served()
    rig.restore(victims)
    played.wait_served()
    rig.cluster.wait_in_sync(played.topic)


@pytest.mark.claim("A2")
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_what_a_power_cut_of_all_brokers_loses_without_flushing(
    tmp_path: Path, software: Software, seed: int
) -> None:
    """A measurement: Kafka promises nothing here, and neither do we. What is left must be whole, though."""
    random, end, figures = Random(seed), time.monotonic() + LONG_SECONDS, list[tuple[int, int]]()
    with powered(tmp_path, software, {}) as rig:
        for number in range(10_000):
            figures.append(lose(rig, f"lost-{number}", random))
            if time.monotonic() >= end:
                break
    lost, acked = sum(pair[0] for pair in figures), sum(pair[1] for pair in figures)
    print(
        f"{software.name}: {len(figures)} cuts of all brokers, {acked} records acknowledged, {lost} lost, "
        f"at most {max(pair[0] for pair in figures)} in one cut"
    )


def lose(rig: Powered, topic: str, random: Random) -> tuple[int, int]:
    """One cut under load; how many acknowledged records are gone, and how many there were."""
    cluster, config = rig.cluster, {"enable.idempotence": False, "message.timeout.ms": 2_000}
    cluster.create_topic(topic, PARTITIONS)
    flow = Flow(cluster.bootstrap_servers, topic, PARTITIONS, rate=RATE, config=config)
    for load in flow.loads:
        load.start()
    flow.wait_for_acks(RATE)
    threading.Event().wait(random.uniform(0.5, 3.0))
    rig.cut(list(cluster.brokers))
    for load in flow.loads:
        load.finish()
    rig.restore(list(cluster.brokers))
    cluster.wait_in_sync(topic)
    finals = read_to_the_end(cluster.bootstrap_servers, flow.partitions, seconds=DEADLINE_SECONDS)
    found = {record.value for final in finals for record in final.records}
    acked = acknowledged(flow.recorder.history())
    cluster.admin.delete_topics([topic])[topic].result(60)
    return len(acked - found), len(acked)


def acknowledged(history: History) -> set[object]:
    sent = {event.operation: event.body.value for event in history.events if isinstance(event.body, Send)}
    ends = (event for event in history.events if event.kind is Kind.OK and isinstance(event.body, Acked))
    return {sent[event.operation] for event in ends}
