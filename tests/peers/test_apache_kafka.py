"""The peer itself: it starts, keeps its data over a restart, and says why it is not there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.peers import apache_kafka as peer
from tests.peers.apache_kafka import ApacheKafka


def test_a_record_survives_a_restart_of_the_node() -> None:
    try:
        peer.jars()
    except peer.Unavailable as reason:
        pytest.skip(str(reason))
    with ApacheKafka() as node:
        producer = Producer({"bootstrap.servers": node.bootstrap_servers})
        producer.produce("t", b"v")
        assert producer.flush(20) == 0
        node.stop()
        node.start()
        consumer = Consumer({"bootstrap.servers": node.bootstrap_servers, "group.id": "g"})
        consumer.assign([TopicPartition("t", 0, 0)])
        message = consumer.poll(20)
        consumer.close()
    assert message is not None
    assert message.value() == b"v"


def test_without_java_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(peer.Unavailable, match="java"):
        peer.jars.__wrapped__()


def test_without_maven_the_reason_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "java").write_text("#!/bin/sh\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(peer.Unavailable, match="mvn"):
        peer.jars.__wrapped__()


def test_a_node_that_cannot_start_says_what_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        peer.jars()
    except peer.Unavailable as reason:
        pytest.skip(str(reason))
    with (
        pytest.raises((AssertionError, subprocess.SubprocessError), match=r"node\.id"),
        ApacheKafka({"node.id": "-7"}),
    ):
        pass
