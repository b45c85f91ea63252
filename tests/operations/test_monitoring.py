"""Dashboard and alert rules against a scrape: promtool takes the files, and every name in them is there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.metrics import connect, pipelines, streams
from penstock.testing import Broker
from penstock.web.metrics import FAMILIES as HTTP_FAMILIES
from tests.house.sources import ROOT

DEPLOY = ROOT / "deploy"
NAME = re.compile(r"\b((?:kafka|penstock|process)_[a-z0-9_]+)")
SECONDS = 60


@pytest.fixture(scope="module")
def scrape() -> Iterator[str]:
    """What a broker with records and a group that lags, and the exporter beside it, tell Prometheus."""
    with Broker(settings={"metrics.listener": "127.0.0.1:0"}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(5):
            producer.produce("orders", str(number))
        assert producer.flush(30) == 0
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "billing"})
        consumer.commit(offsets=[TopicPartition("orders", 0, 2)], asynchronous=False)
        consumer.close()
        command = [sys.executable, "-m", "penstock", "exporter", "--listen", "127.0.0.1:0"]
        command += ["--bootstrap-servers", broker.bootstrap_servers]
        exporter = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert exporter.stdout is not None
        address = exporter.stdout.readline().split()[1]
        yield page(f"http://{broker.metrics_address}/metrics") + page(f"http://{address}/metrics")
        exporter.terminate()
        assert exporter.wait(SECONDS) == 0


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        return str(answer.read().decode())


def promtool(*words: str, stdin: str = "", folder: Path = DEPLOY / "prometheus") -> str:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(
        ["promtool", *words], input=stdin, capture_output=True, text=True, timeout=SECONDS, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_takes_the_configuration_and_the_rules_ring_when_they_should() -> None:
    assert "SUCCESS" in promtool("check", "config", "prometheus.yml")
    promtool("test", "rules", "alerts_test.yml")


def test_promtool_parses_the_scrape(scrape: str) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(["promtool", "check", "metrics"], input=scrape, capture_output=True, text=True)
    parse_errors = [line for line in done.stderr.splitlines() if "error while linting" in line]
    assert not parse_errors, parse_errors


def test_a_lag_is_told_in_records_and_seconds(scrape: str) -> None:
    labels = 'consumergroup="billing",topic="orders",partition="0"'
    assert f"kafka_consumergroup_lag{{{labels}}} 3" in scrape
    seconds = re.search(rf"kafka_consumergroup_lag_seconds{{{labels}}} (\S+)", scrape)
    assert seconds is not None
    assert 0 <= float(seconds[1]) < 600


def test_every_name_of_dashboard_and_alerts_is_told_by_a_process(scrape: str) -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "penstock.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    asked.append((DEPLOY / "prometheus" / "alerts.yml").read_text())
    named = {name for text in asked for name in NAME.findall(text)}
    declared = (*HTTP_FAMILIES, *pipelines.FAMILIES, *streams.FAMILIES, *connect.FAMILIES)
    told = set(NAME.findall(scrape)) | {family.name for family in declared}
    assert named <= told, named - told
    assert len(asked) > 20


def test_a_broker_says_whether_it_is_well_and_ready() -> None:
    with Broker(settings={"metrics.listener": "127.0.0.1:0"}) as broker:
        for path, status in (("health", "UP"), ("ready", "READY")):
            assert json.loads(page(f"http://{broker.metrics_address}/{path}")) == {"status": status}
