"""Several workers of one group, and workers that go on with what Apache Kafka Connect left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testing.broker import Broker
from tests.connectors.test_file_stream import SINK, SOURCE, values
from tests.connectors.worker import Worker, eventually
from tests.peers.apache_kafka import Unavailable, connect_jars
from tests.peers.connect.apache_connect import ApacheConnect
from tests.peers.connect.rest_script import in_state

pytestmark = pytest.mark.timeout(600)


def test_another_worker_takes_over_from_one_that_is_killed(broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("1\n2\n")
    first, second = (Worker(broker.bootstrap_servers, str(tmp_path), group_id="pair") for _ in range(2))
    first.start()
    second.start()
    try:
        config = {"connector.class": SOURCE, "file": str(path), "topic": "taken-over"}
        second.create("lines", config)  # handed on to the one that drives
        eventually(lambda: values(broker, "taken-over") == ["1", "2"], "the first lines", 180)
        expected = second.call("GET", "/connectors/lines")[1]
        assert first.call("GET", "/connectors/lines")[1] == expected
        driver = second.call("GET", "/connectors/lines/status")[1]["connector"]["worker_id"]
        assert f"http://{driver}" == first.url
        first.kill()
        with path.open("a") as more:
            more.write("3\n")

        def moved() -> bool:
            status, told = second.call("GET", "/connectors/lines/status")
            return status == 200 and f"http://{told['connector']['worker_id']}" == second.url

        eventually(moved, "the other worker drives", 120)
        eventually(lambda: len(values(broker, "taken-over")) >= 3, "the line after the kill", 180)
        assert values(broker, "taken-over") == ["1", "2", "3"]
        assert second.call("GET", "/connectors/lines/config")[1] == expected["config"]
    finally:
        first.stop()
        second.stop()


@pytest.mark.long
def test_an_existing_cluster_is_taken_over_and_given_back(broker: Broker, tmp_path: Path) -> None:
    try:
        connect_jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_text("kafka\n")
    names = {f"{each}_storage_topic": f"moved-{each}" for each in ("config", "offset", "status")}
    ours = Worker(broker.bootstrap_servers, str(tmp_path), group_id="moved", **names)
    written = "kafka\n"
    with ApacheConnect(broker.bootstrap_servers, group_id="moved", **names) as apache:
        source = {"connector.class": SOURCE, "file": str(path), "topic": "moved"}
        sink = {"connector.class": SINK, "file": str(out), "topics": "moved"}
        for name, config in (("from", source), ("to", sink)):
            assert apache.call("PUT", f"/connectors/{name}/config", config)[0] == 201
        eventually(lambda: out.exists() and out.read_text() == written, "Kafka's lines", 120)
        eventually(lambda: apache.call("GET", "/connectors/from/offsets")[1]["offsets"], "its offsets", 60)
        eventually(lambda: apache.call("GET", "/connectors/to/offsets")[1]["offsets"], "its offsets", 60)
        told = {
            each: apache.call("GET", f"/connectors/from{each}")[1]
            for each in ("", "/tasks", "/offsets", "/topics")
        }
        apache.stop()
        ours.start()
        try:
            assert sorted(ours.call("GET", "/connectors")[1]) == ["from", "to"]
            assert {each: ours.call("GET", f"/connectors/from{each}")[1] for each in told} == told
            written += "ours\n"
            path.write_text(written)
            eventually(lambda: out.read_text() == written, "our lines", 180)
        finally:
            ours.stop()
        apache.start()
        for name in ("from", "to"):
            eventually(
                lambda name=name: in_state("RUNNING", "RUNNING")(  # type: ignore[misc]
                    *apache.call("GET", f"/connectors/{name}/status")
                ),
                f"{name} runs in Kafka Connect again",
                120,
            )
        written += "kafka again\n"
        path.write_text(written)
        eventually(lambda: len(out.read_text()) >= len(written), "Kafka's lines again", 120)
    assert out.read_text() == written
    assert values(broker, "moved") == written.split("\n")[:-1]
