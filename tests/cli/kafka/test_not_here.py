"""Commands of Kafka without work here: each says why, and what to use."""

from __future__ import annotations

import pytest

from penstock.cli.kafka import not_here
from penstock.cli.kafka.starting import Body, run


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (not_here.streams_groups, "kafka-streams-application-reset"),
        (not_here.client_metrics, "/metrics"),
        (not_here.mirror_maker, "connect-mirror-maker"),
    ],
)
def test_what_is_not_there_is_refused_with_what_to_use(
    body: Body, names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(body, ["--bootstrap-server", "127.0.0.1:9092"]) == 1
    assert names in capsys.readouterr().err


def test_zookeeper_is_not_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(not_here.zookeeper_start, ["config/zookeeper.properties"]) == 0
    assert "kafka-server-start" in capsys.readouterr().out
    assert run(not_here.zookeeper_stop, []) == 0
