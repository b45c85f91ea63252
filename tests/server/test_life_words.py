"""What a broker says of its troubles with the controller: once, and so that an operator knows what to do."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.server.cluster.life_thread import LifeThread
from tests.server.test_node import node_on

DUPLICATE = KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, "BROKER_REGISTRATION")
UNANSWERED = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no answer in time")


def test_after_a_kill_the_broker_says_how_long_its_last_session_lives(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    node = node_on(tmp_path)
    life = node.life()
    for _ in range(5):
        life.failed(DUPLICATE)
    told = [line for line in caplog.messages if "last session" in line]
    assert len(told) == 1
    assert "9.0 s at most" in told[0]
    assert not any("DUPLICATE_BROKER_REGISTRATION" in line for line in caplog.messages)
    life.failed(UNANSWERED)
    assert caplog.messages[-1].startswith("no controller answers this broker")
    node.close()


def test_without_a_majority_the_broker_says_how_many_voters_it_hears(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Settings:
        node_id = 1
        voters = {1: ("a", 1), 2: ("b", 2), 3: ("c", 3)}
        controller_quorum_fetch_timeout_ms = 2000

    node = node_on(tmp_path)
    heard: set[int] = set()
    thread = LifeThread(node.life(), node.broker, lambda: None, lambda seconds: frozenset(heard))
    broker: Any = type("Broker", (), {"settings": Settings})
    thread._broker = broker
    for _ in range(3):
        thread._tell_of_quorum()
    heard.add(2)
    thread._tell_of_quorum()
    node.close()
    told = [line for line in caplog.messages if "majority" in line]
    assert told == ["there is no majority of voters: this node hears 1 of 3 (1), a controller needs 2"]
