"""Real MirrorMaker 2 and ours with the same mm2.properties, each to a cluster of its own: what both make of
one source is compared. Then ours goes on where MirrorMaker 2 has stopped."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.testing import Broker
from tests.mirroring.rig import Client, Mirror, until, write_config
from tests.peers.apache_kafka import QUICK_JAVA, mirror_jars

pytestmark = pytest.mark.timeout(900)

INTERNAL = ("mm2-configs.", "mm2-status.", "__")
"""What only MirrorMaker 2's worker needs, and the brokers' own topics."""


@contextmanager
def mirror_maker(config: Path, log: Path) -> Iterator[None]:
    """The dedicated mode of org.apache.kafka:connect-mirror."""
    name = "org.apache.kafka.connect.mirror.MirrorMaker"
    java = ["java", "-Xmx384m", *QUICK_JAVA, "-Dlog4j2.level=WARN", "-cp", f"{mirror_jars()}/*"]
    with log.open("wb") as out:
        process = subprocess.Popen([*java, name, str(config)], stdout=out, stderr=out)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)


def test_the_same_file_gives_the_same_topics_configurations_and_offsets(
    theirs: Client, tmp_path: Path
) -> None:
    source, log = theirs, tmp_path / "mirror-maker.log"
    source.create("mm-plain", 2, retention_ms="3600000", max_message_bytes="2000000")
    source.create("mm-compacted", 1, cleanup_policy="compact", min_insync_replicas="1")
    source.create("mm-skipped", 1)
    for topic, partitions in (("mm-plain", 2), ("mm-compacted", 1)):
        source.produce(topic, [b"%d" % n for n in range(600)], partitions)
    source.consume("mm-all", ["mm-plain", "mm-compacted"], 1200)
    source.consume("mm-none", ["mm-skipped", "mm-compacted"], 600)
    with Broker() as one, Broker() as two:
        for_them, for_us = Client(one.bootstrap_servers), Client(two.bootstrap_servers)
        settings = {
            "topics": "mm-.*",
            "topics_exclude": "mm-skip.*",
            "groups": "mm-.*",
            "T.offset.flush.interval.ms": "1000",
        }
        files = [
            write_config(
                tmp_path / f"{n}.properties", {"S": source.servers, "T": t.servers}, ["S->T"], **settings
            )
            for n, t in enumerate((for_them, for_us))
        ]
        mirror = Mirror(files[1]).start()
        try:
            with mirror_maker(files[0], log):
                for target in (for_them, for_us):
                    for group, count in (("mm-all", 3), ("mm-none", 1)):
                        until(
                            f"{group} is translated",
                            lambda t=target, g=group, n=count: len(_translated(t, g)) == n,  # type: ignore[misc]
                            lambda: mirror.told() + log.read_text()[-3000:],
                        )
                assert _names(for_us) == _names(for_them)
                for name in _names(for_them):
                    assert for_us.config(name) == for_them.config(name), name
                for group in ("mm-all", "mm-none"):
                    # MirrorMaker 2 tells the last records of a topic only when it commits its offsets.
                    until(
                        f"{group} is at the same place on both",
                        lambda g=group: _translated(for_us, g) == _translated(for_them, g),  # type: ignore[misc]
                        lambda: mirror.told() + log.read_text()[-3000:],
                    )
                    assert set(_translated(for_us, group).values()) == {0}
        finally:
            assert mirror.stop() == 0, mirror.told()
        _goes_on(source, for_them, files[0])


def _goes_on(source: Client, target: Client, config: Path) -> None:
    """Where MirrorMaker 2 copied, ours copies only what came later: its source offsets are understood."""
    before = len(target.read("S.mm-plain", 0))
    source.produce("mm-plain", [b"later %d" % n for n in range(100)])
    mirror = Mirror(config).start()
    try:
        until("the rest is copied", lambda: len(target.read("S.mm-plain", 0)) >= before + 50, mirror.told)
        assert target.read("S.mm-plain", 0) == source.read("mm-plain", 0)
    finally:
        assert mirror.stop() == 0, mirror.told()


def _names(target: Client) -> dict[str, int]:
    return {name: count for name, count in target.topics().items() if not name.startswith(INTERNAL)}


def _translated(target: Client, group: str) -> dict[tuple[str, int], int]:
    """What a group would still read on the target, by partition: the offsets of both differ by the markers of
    transactions, which MirrorMaker 2 does not write."""
    try:
        committed = target.committed(group)
    except Exception:  # the group is not there yet
        return {}
    return {place: len(target.read(*place, offset)) for place, offset in committed.items()}
