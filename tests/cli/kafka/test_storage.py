"""`kafka-storage` beside Kafka's own, and brokers that start on what either has formatted."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from penstock.cli.kafka.storage import storage
from penstock.controller.metadata_records import FeatureLevelRecord
from penstock.controller.security_records import UserScramCredentialRecord
from penstock.controller.snapshot_content import bootstrap_records
from penstock.security.jaas import SCRAM_MODULE
from penstock.testing import Broker
from tests.cli.kafka.side_by_side import Said, SideBySide
from tests.peers.apache_kafka import CLUSTER_ID, free_port

KAFKAS = "kafka.tools.StorageTool"
SECONDS = 20.0
ALICE = "SCRAM-SHA-512=[name=alice,iterations=8192,password=hers]"


class Formatted:
    """Two directories and a file of properties for each of the two commands."""

    def __init__(self, folder: Path, side: SideBySide) -> None:
        self.folder = folder
        self.side = side
        for who in ("ours", "kafkas"):
            self.write(who)

    def write(self, who: str, *left_out: str) -> None:
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": "1@localhost:9093",
            "controller.listener.names": "CONTROLLER",
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "log.dirs": f"{self.folder / who / 'a'},{self.folder / who / 'b'}",
        }
        if "controller.quorum.voters" in left_out:
            lines["controller.quorum.bootstrap.servers"] = "localhost:9093"
        kept = (f"{name}={value}" for name, value in lines.items() if name not in left_out)
        (self.folder / f"{who}.properties").write_text("\n".join(kept))

    def both(self, line: str) -> tuple[Said, Said]:
        said = []
        for who in ("ours", "kafkas"):
            words = [
                word.replace("FILE", str(self.folder / f"{who}.properties")) for word in shlex.split(line)
            ]
            found = self.side.ours(storage, *words) if who == "ours" else self.side.kafkas(KAFKAS, *words)
            said.append(Said(found.code, self._same(found.out, who), self._same(found.err, who)))
        return said[0], said[1]

    def _same(self, text: str, who: str) -> str:
        text = text.replace(str(self.folder / who), "DIR")
        text = re.sub(r"^java\.lang\.\w+: ", "", text)  # ours are sentences
        text = re.sub(r"Bootstrap metadata: .*\n", "", text)
        return re.sub(r"directory\.id=[\w-]{22}", "directory.id=ID", text)


@pytest.fixture
def formatted(tmp_path: Path, side: SideBySide) -> Formatted:
    return Formatted(tmp_path, side)


FORMAT = f"format -t {CLUSTER_ID} -c FILE"


@pytest.mark.parametrize(
    "lines",
    [
        ["info -c FILE"],
        [FORMAT, "info -c FILE", FORMAT, f"{FORMAT} --ignore-formatted"],
        [f"{FORMAT} -S '{ALICE}' --release-version 4.1", "info --config FILE"],
        [f"{FORMAT} -r 4.2-IV1 --feature transaction.version=1"],
        [f"{FORMAT} --feature metadata.version=27"],
        [f"{FORMAT} --standalone"],
        [f"{FORMAT} -r 4.1 -f metadata.version=25"],
        [f"{FORMAT} -f kraft.version=1"],
        [f"{FORMAT} --feature nonsense"],
        [f"{FORMAT} -S 'SCRAM-SHA-1=[name=a,password=b]'"],
        [f"{FORMAT} -S 'SCRAM-SHA-256=name=a'"],
        [f"{FORMAT} -S 'SCRAM-SHA-256=[name=a'"],
        [f"{FORMAT} -S 'SCRAM-SHA-256=[password=a]'"],
        [f"{FORMAT} -S 'SCRAM-SHA-256=[name=a]'"],
        [f"{FORMAT} -S 'SCRAM-SHA-256=[name=a,saltedpassword=YQ==]'"],
        [f"{FORMAT} -S 'SCRAM-SHA-256=[name=a,password=b,iterations=5]'"],
        [f"{FORMAT} -S 'SCRAM-SHA-256=[name=a,password=b,iterations=50000]'"],
        [f"{FORMAT} -S 'SCRAM-SHA-256=[name=a,password=b,more=c]'"],
        ["version-mapping", "version-mapping -r 4.1", "version-mapping -r 3.9"],
        ["feature-dependencies -f eligible.leader.replicas.version=1 -f metadata.version=25"],
        ["feature-dependencies -f nonsense=1"],
    ],
)
def test_directories_are_formatted_and_described_as_by_kafka(formatted: Formatted, lines: list[str]) -> None:
    for line in lines:
        ours, kafkas = formatted.both(line)
        assert (ours.code, ours.lines) == (kafkas.code, kafkas.lines)
        # Which of two directories Kafka names is decided by the hash of their paths.
        assert re.sub("DIR/[ab]", "DIR", ours.complaint) == re.sub("DIR/[ab]", "DIR", kafkas.complaint)


def test_a_controller_without_voters_is_formatted_as_the_only_one(formatted: Formatted) -> None:
    for who in ("ours", "kafkas"):
        formatted.write(who, "controller.quorum.voters")
    for line in (FORMAT, f"{FORMAT} --standalone"):
        ours, kafkas = formatted.both(line)
        assert (ours.code, ours.lines, ours.complaint) == (kafkas.code, kafkas.lines, kafkas.complaint)


@pytest.mark.parametrize(
    ("release", "told"),
    [("3.9", "metadata.version 3.9-IV0 is too old"), ("2.8", "Unknown metadata.version '2.8'")],
)
def test_a_release_that_is_not_supported_is_refused(formatted: Formatted, release: str, told: str) -> None:
    words = f"{FORMAT} -r {release}".replace("FILE", str(formatted.folder / "ours.properties"))
    said = formatted.side.ours(storage, *words.split())
    assert said.code == 1
    assert told in said.complaint


def test_other_voters_are_named_by_the_settings(formatted: Formatted) -> None:
    formatted.write("ours", "controller.quorum.voters")
    words = f"{FORMAT} -I 1@a:9093:JEXY6aqzQY-32P5TStzaFg,2@b:9093:MvDxzVmcRsaTz33bUuRU6A"
    said = formatted.side.ours(
        storage, *words.replace("FILE", str(formatted.folder / "ours.properties")).split()
    )
    assert said.code == 1
    assert "controller.quorum.voters=1@a:9093,2@b:9093" in said.complaint


def test_what_either_command_has_written_is_read_by_the_other_side(
    formatted: Formatted, side: SideBySide
) -> None:
    formatted.both(f"{FORMAT} -S '{ALICE}'")
    for who in ("ours", "kafkas"):
        records = bootstrap_records((formatted.folder / who / "a" / "bootstrap.checkpoint").read_bytes())
        assert records[0] == FeatureLevelRecord("metadata.version", 29)
        user = records[-1]
        assert isinstance(user, UserScramCredentialRecord)
        assert (user.name, user.mechanism, user.iterations) == ("alice", 2, 8192)
    file = str(formatted.folder / "ours" / "a" / "bootstrap.checkpoint")
    dumped = side.kafkas("kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", file).out
    assert '"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version"' in dumped
    assert '"type":"USER_SCRAM_CREDENTIAL_RECORD","version":0,"data":{"name":"alice","mechanism":2' in dumped


def test_no_secret_is_printed_and_no_other_user_reads_the_file(
    formatted: Formatted, side: SideBySide, tmp_path: Path
) -> None:
    """The words may stand in a file, so that the command line does not show the password either."""
    words = tmp_path / "words"
    words.write_text("--add-scram\nSCRAM-SHA-256=[name=alice,password=canary]\n")
    line = FORMAT.replace("FILE", str(tmp_path / "ours.properties"))
    said = side.ours(storage, *line.split(), f"@{words}")
    assert said.code == 0
    assert "name='alice'" in said.out
    assert "canary" not in said.out + said.err
    assert "storedKey=(redacted)" in said.out
    assert (tmp_path / "ours" / "a" / "bootstrap.checkpoint").stat().st_mode & 0o077 == 0


def settings(port: int, data: Path) -> dict[str, str]:
    address = f"SASL://127.0.0.1:{port}"
    return {
        "log.dirs": str(data),
        "listeners": address,
        "advertised.listeners": address,
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    }


@pytest.mark.parametrize("who", ["ours", "kafkas"])
def test_the_first_user_comes_in_to_a_broker_that_asks_everybody(formatted: Formatted, who: str) -> None:
    formatted.both(f"{FORMAT} -S '{ALICE}'")
    port, data = free_port(), formatted.folder / who / "a"
    client: dict[str, Any] = {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": "hers",
    }
    for _ in range(2):  # the second time from the log
        with Broker(settings=settings(port, data)):
            found = AdminClient(client).list_topics(timeout=SECONDS)
            assert found.cluster_id == CLUSTER_ID
