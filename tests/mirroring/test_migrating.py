"""An Apache Kafka cluster with topics, groups, schemas and ACLs moved to Penstock, and cut over."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from penstock.testing import Broker
from tests.mirroring.rig import Client, Mirror, penstock, until
from tests.peers.apache_kafka import ApacheKafka, Unavailable, jars

pytestmark = pytest.mark.timeout(1800)

AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
ANY_ACL = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Client]:
    try:
        jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with ApacheKafka(AUTHORIZED, parent=tmp_path) as node:
        yield Client(node.bootstrap_servers)


@pytest.fixture
def target() -> Iterator[Client]:
    with Broker(settings=AUTHORIZED) as broker:
        yield Client(broker.bootstrap_servers)


class Migration(Mirror):
    def command(self) -> list[str]:
        return [sys.executable, "-m", "penstock", "migrate", "start", "--config", str(self.config)]


def test_topics_groups_schemas_and_acls_move_and_both_sides_are_compared(
    source: Client, target: Client, tmp_path: Path, long_form: bool
) -> None:
    topics, groups = (200, 50) if long_form else (8, 4)
    names = [f"moved-{number}" for number in range(topics)]
    for name in names:
        source.create(name, 2, retention_ms="86400000")
        source.produce(name, [b"%d" % n for n in range(100)], **{"compression.type": "zstd"})
    source.create("_schemas", 1, cleanup_policy="compact")
    schema = {"subject": "s-value", "version": 1, "id": 1, "schema": '"string"', "deleted": False}
    key = {"keytype": "SCHEMA", "subject": "s-value", "version": 1, "magic": 1}
    source.produce("_schemas", [json.dumps({"key": key, "value": schema}).encode()], 1)
    for number in range(groups):
        source.consume(f"group-{number}", [names[number]], 100)
    literal = ("moved-0", ResourcePatternType.LITERAL, "User:alice", "*")
    acls = [
        AclBinding(ResourceType.TOPIC, *literal, AclOperation.WRITE, AclPermissionType.ALLOW),
        AclBinding(ResourceType.GROUP, "group", ResourcePatternType.PREFIXED, "User:bob", "*",
                   AclOperation.READ, AclPermissionType.DENY),
    ]  # fmt: skip
    for future in source.admin.create_acls(acls).values():
        future.result(30)
    config = tmp_path / "migration.properties"

    ends = ("--from", source.servers, "--to", target.servers)
    planned = json.loads(penstock("migrate", "plan", *ends, "--config", str(config), "--json"))
    assert len(planned["topics"]) == topics + 1
    assert (len(planned["groups"]), planned["acls"], planned["has_schemas"]) == (groups, 2, True)
    assert planned["conflicts"] == []
    migration = Migration(config).start()
    try:
        until("all is copied", lambda: _lag(config) == 0 and "moved-0" in target.topics(), migration.told)
        source.produce("moved-0", [b"late"], 1)
        until("also what came late", lambda: len(target.read("moved-0", 0)) == 51, migration.told)
        for number in range(groups):  # as clients do that are stopped for the cut-over
            until("the group is known", lambda n=number: _committed(target, f"group-{n}"), migration.told)  # type: ignore[misc]
        shown = json.loads(penstock("migrate", "cut-over", "--config", str(config), "--yes", "--json"))
    finally:
        assert migration.stop() == 0, migration.told()

    assert shown["obstacles"] == []
    assert len(shown["partitions"]) == topics * 2 + 1
    assert all(each["same"] for each in shown["partitions"])
    for number in range(groups):
        for place, offset in target.committed(f"group-{number}").items():
            expected = 1 if place == ("moved-0", 0) else 0
            assert len(target.read(*place, offset)) == expected, place
    assert set(target.admin.describe_acls(ANY_ACL).result(30)) == set(acls)
    assert target.config("moved-1") == {"retention.ms": "86400000"}


def test_a_difference_stops_the_cut_over(ours: Client, theirs: Client, tmp_path: Path) -> None:
    name = "differs"
    theirs.create(name, 1)
    theirs.produce(name, [b"one", b"two"], 1)
    ours.create(name, 1)
    ours.produce(name, [b"one", b"TWO"], 1)
    config = tmp_path / "migration.properties"
    ends = ("--from", theirs.servers, "--to", ours.servers, "--topics", name, "--groups", "nobody")
    planned = json.loads(penstock("migrate", "plan", *ends, "--config", str(config), "--json"))
    assert planned["conflicts"] == [name]

    words = [sys.executable, "-m", "penstock", "migrate"]
    done = subprocess.run(
        [*words, "cut-over", "--config", str(config), "--yes"], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 1
    assert "differs-0 differs: 2 records on the source, 2 on the target" in done.stderr
    refused = subprocess.run(
        [*words, "start", "--config", str(config)], capture_output=True, text=True, timeout=240
    )
    assert refused.returncode == 1
    assert "on the target already: differs" in refused.stderr


def _lag(config: Path) -> int:
    return int(json.loads(penstock("migrate", "status", "--config", str(config), "--json"))["lag"])


def _committed(target: Client, group: str) -> bool:
    try:
        return bool(target.committed(group))
    except Exception:  # the group is not there yet
        return False
