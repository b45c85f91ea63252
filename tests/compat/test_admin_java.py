"""The Java admin client: quotas, settings, records, offsets, directories, producers and features."""

from __future__ import annotations

from tests.peers.java_programs import JavaPrograms

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
    "metadata.version": "29",
    "nodes": "1",
}


def test_java_sees_what_is_there(servers: str, java_programs: JavaPrograms) -> None:
    said = java_programs.run("AdminCheck", servers, "java-admin")
    found = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    assert {name: found.get(name) for name in EXPECTED} == EXPECTED
