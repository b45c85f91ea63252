"""An Apache Kafka cluster with topics, groups, schemas and ACLs moved to Penstock, and cut over."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from tests.mirroring.moving_clients import Place, Reader, Writer
from tests.mirroring.rig import PATIENCE_S, Client, Mirror, penstock, until
from tests.peers.apache_kafka import ApacheKafka, Unavailable, jars

pytestmark = pytest.mark.timeout(1800)

AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
LAG_MAX = 100
"""`offset.lag.max`, as it is by default."""
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
    with registry(source) as url:
        assert ask(f"{url}/subjects/s-value/versions", {"schema": '"string"'})["id"] == 1
    for number in range(groups):
        source.consume(f"group-{number}", [names[number]], 100)
    loaded = {f"group-{number}": names[number] for number in range(1, 1 + (10 if long_form else 2))}
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
    assert (planned["conflicts"], planned["groups_complete"]) == ([], True)
    writer = Writer(list(loaded.values()), 100)
    writer.start(source.servers)
    readers = [Reader(source.servers, *each) for each in loaded.items()]
    for reader in readers:
        reader.start()
    migration = Migration(config).start()
    try:
        until("topics are there", lambda: set(names) <= set(target.topics()), migration.told)
        until("clients are busy", lambda: all(len(each.values) == 2 for each in readers), migration.told)
        until("the copy keeps up", lambda: _lag(config) < 2000, migration.told)
        refused = cut_over(config)
        assert refused.returncode == 1
        assert "of the source is still written to" in refused.stderr + refused.stdout
        writer.stop()
        processed = [reader.stop() for reader in readers]
        moved_at = writer.next
        until("all is copied", lambda: _lag(config) == 0 and "moved-0" in target.topics(), migration.told)
        source.produce("moved-0", [b"late"], 1)
        until("also what came late", lambda: len(target.read("moved-0", 0)) == 51, migration.told)
        for number in range(groups):  # as clients do that are stopped for the cut-over
            until("the group is known", lambda n=number: _committed(target, f"group-{n}"), migration.told)  # type: ignore[misc]
        done = cut_over(config)
        assert done.returncode == 0, done.stderr
        shown = json.loads(done.stdout)
    finally:
        assert migration.stop() == 0, migration.told()

    assert shown["obstacles"] == []
    assert len(shown["partitions"]) == topics * 2 + 1
    assert all(each["same"] for each in shown["partitions"])
    writer.start(target.servers)
    readers = [Reader(target.servers, *each) for each in loaded.items()]
    for reader in readers:
        reader.start()
    enough = moved_at + 50
    until("clients go on", lambda: all(_is_at(each, enough) for each in readers), migration.told)
    writer.stop()
    again = [
        _again(before, reader.stop(), moved_at) for before, reader in zip(processed, readers, strict=True)
    ]
    print(f"{moved_at - 100} records a partition under load; read again by partition: {again}")
    with registry(target) as url:
        assert ask(f"{url}/subjects/s-value/versions/1")["schema"] == '"string"'
    for number in range(groups):
        if f"group-{number}" in loaded:
            continue
        for place, offset in target.committed(f"group-{number}").items():
            expected = 1 if place == ("moved-0", 0) else 0
            assert len(target.read(*place, offset)) == expected, place
    assert set(target.admin.describe_acls(ANY_ACL).result(30)) == set(acls)
    assert target.config("moved-1") == {"retention.ms": "86400000"}


def cut_over(config: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "penstock", "migrate", "cut-over", "--config", str(config), "--yes"]
    return subprocess.run([*words, "--json"], capture_output=True, text=True, timeout=PATIENCE_S)


@contextmanager
def registry(cluster: Client) -> Iterator[str]:
    """The address of a registry on the cluster."""
    words = [sys.executable, "-m", "penstock", "registry", "--bootstrap-servers", cluster.servers]
    process = subprocess.Popen([*words, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield "http://" + process.stdout.readline().split()[1].removeprefix("http://")
    finally:
        process.terminate()
        process.wait(60)


def ask(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def _is_at(reader: Reader, number: int) -> bool:
    return len(reader.values) == 2 and all(values[-1] >= number for values in reader.values.values())


def _again(before: dict[Place, list[int]], after: dict[Place, list[int]], moved_at: int) -> list[int]:
    """How many records a group saw again, by partition; no record may be missing."""
    found = []
    for place, numbers in after.items():
        known = before.get(place, [])
        position = 100 + len(known)
        assert known == list(range(100, position)), place
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), place
        assert numbers[0] <= position, f"{place}: {position} to {numbers[0]} are skipped"
        again = position - numbers[0]
        assert again <= max(LAG_MAX, moved_at - position), f"{place}: {again} again, at {position}"
        found.append(again)
    return found


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
