"""The Java admin client: quotas, settings, records, offsets, directories, producers and features."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.peers.apache_kafka import Unavailable, jars

JAVA_SECONDS = 60
EXPECTED = {
    "quotas": "{ClientQuotaEntity(entries={user=alice})={producer_byte_rate=1024.0}}",
    "retention.ms": "7777 DYNAMIC_TOPIC_CONFIG",
    "low watermark": "2",
    "EarliestSpec": "2",
    "LatestSpec": "5",
    "MaxTimestampSpec": "4",
    "EarliestLocalSpec": "2",
    "LatestTieredSpec": "-1",
    "partitions": "2",
    "log size": "true",
    "producers": "1",
    "metadata.version": "25",
    "nodes": "1",
}


def test_java_sees_what_is_there(servers: str) -> None:
    try:
        libs = jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    source = Path(__file__).with_name("AdminCheck.java")
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*", str(source), servers, "java-admin"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=JAVA_SECONDS)
    assert done.returncode == 0, done.stderr
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert {name: found.get(name) for name in EXPECTED} == EXPECTED
