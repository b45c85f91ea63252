"""`penstock up` as people start it: real broker, real console, a script; Ctrl-C; starting again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.platform.next_steps import next_steps
from penstock.platform.process import Service
from penstock.platform.supervisor import Supervisor

pytestmark = pytest.mark.timeout(110)

DEADLINE_S = 60
FREE_PORTS = [
    word
    for name in ("", "registry-", "rest-", "connect-", "sql-", "console-")
    for word in (f"--{name}listen", "127.0.0.1:0")
]
SCRIPT = """
import argparse, signal, sys
from penstock.client.admin import Admin
from penstock.client.errors import TopicExists

parser = argparse.ArgumentParser()
parser.add_argument("--bootstrap-servers")
parser.add_argument("--data")
options = parser.parse_args()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    Admin(options.bootstrap_servers).create_topic("made-by-script")
except TopicExists:
    print("goes on")
print("ready", options.data, flush=True)
while True:
    signal.pause()
"""


def _up(*arguments: str) -> subprocess.Popen[str]:
    """In a process group of its own, as a shell would start it, so that the test can press Ctrl-C."""
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", "up", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def _lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """The next lines, without those that only say that a script is still starting."""
    assert process.stdout is not None
    found: list[str] = []
    while len(found) < count:
        line = process.stdout.readline()
        assert line, found
        if "[STARTING]" not in line:
            found.append(line.rstrip("\n"))
    return found


def test_the_platform_comes_up_serves_stops_in_order_and_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "maker.py"
    script.write_text(SCRIPT)
    data = tmp_path / "data"
    arguments = ("--data", str(data), *FREE_PORTS)
    for attempt in range(2):
        process = _up(*arguments, "--run", str(script))
        try:
            broker, registry, rest, connect, sql, console, maker = _lines(process, 7)
            assert broker.startswith("broker is [UP] 127.0.0.1:")
            assert registry.startswith("registry is [UP] http://127.0.0.1:")
            assert rest.startswith("rest is [UP] http://127.0.0.1:")
            assert connect.startswith("connect is [UP] http://127.0.0.1:")
            assert sql.startswith("sql is [UP] http://127.0.0.1:")
            assert console.startswith("console is [UP] http://127.0.0.1:")
            assert maker == f"maker is [UP] {data / 'maker'}"
            for url in (
                console.split()[-1],
                f"{registry.split()[-1]}/subjects",
                f"{rest.split()[-1]}/topics",
                f"{connect.split()[-1]}/connectors",
                f"{sql.split()[-1]}/info",
            ):
                with urllib.request.urlopen(url, timeout=DEADLINE_S) as page:
                    assert page.status == 200
            topics = [topic.name for topic in Admin(broker.split()[-1]).topics() if not topic.internal]
            assert topics == ["made-by-script"]
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
        assert out.splitlines() == [
            f"{name} is [DOWN]"
            for name in ("maker", "console", "sql", "connect", "rest", "registry", "broker")
        ]
        assert (process.returncode, err) == (0, "")
        logs = {path.name: path.read_text() for path in (data / "logs").iterdir()}
        assert sorted(logs) == [
            "broker.log", "connect.log", "console.log", "maker.log", "registry.log", "rest.log", "sql.log",
        ]  # fmt: skip
        assert not [name for name, text in logs.items() if "Traceback" in text]
        assert ("goes on" in logs["maker.log"]) is (attempt == 1)


def test_a_script_that_fails_brings_the_platform_down_with_its_last_lines(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text("raise SystemExit('there is no such market')")
    process = _up("--data", str(tmp_path / "data"), *FREE_PORTS, "--run", str(script))
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    assert "broken has ended with exit code 1" in err
    assert "there is no such market" in err
    assert "Traceback" not in err
    assert out.splitlines()[-3:] == ["rest is [DOWN]", "registry is [DOWN]", "broker is [DOWN]"]


def test_a_port_in_use_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = _up("--data", str(tmp_path / "data"), "--listen", f"127.0.0.1:{port}")
        out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (1, "")
    assert f"Port {port} of 127.0.0.1 is in use by another program" in err
    assert "--listen HOST:PORT" in err


def test_parts_that_are_killed_come_back_at_their_addresses_and_go_on(tmp_path: Path) -> None:
    process = _up("--data", str(tmp_path / "data"), *FREE_PORTS)
    try:
        addresses = {line.split()[0]: line.split()[-1] for line in _lines(process, 6)}
        Admin(addresses["broker"]).create_topic("kept")
        schema = json.dumps({"schema": '"int"'}).encode()
        request = urllib.request.Request(
            f"{addresses['registry']}/subjects/s/versions", schema, {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(request, timeout=DEADLINE_S).close()
        for name in ("broker", "registry", "rest", "connect", "sql", "console"):
            os.kill(_pid_of(name, process.pid), signal.SIGKILL)
            assert _lines(process, 2) == [
                f"{name} was ended by SIGKILL. It starts again in 0.5 s",
                f"{name} is [UP] again {addresses[name]}",
            ]
        assert "kept" in [topic.name for topic in Admin(addresses["broker"]).topics()]
        for url, expected in (
            (f"{addresses['registry']}/subjects", b"s"),
            (f"{addresses['rest']}/topics", b"kept"),
        ):
            with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
                assert expected in answer.read()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
    assert out.splitlines() == [
        f"{name} is [DOWN]" for name in ("console", "sql", "connect", "rest", "registry", "broker")
    ]
    assert (process.returncode, err) == (0, "")


def _pid_of(name: str, parent: int) -> int:
    """The child of a process that runs `penstock NAME`."""
    children = Path(f"/proc/{parent}/task").glob("*/children")
    pids = [int(pid) for path in children for pid in path.read_text().split()]
    command = ["-m", "penstock", name]
    found = [pid for pid in pids if Path(f"/proc/{pid}/cmdline").read_text().split("\0")[1:4] == command]
    assert len(found) == 1, (name, pids)
    return found[0]


def test_a_full_or_foreign_data_folder_is_named_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    process = _up("--data", str(tmp_path / "data"), *FREE_PORTS)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (1, "")
    assert "is a file, not a folder" in err
    assert "--data" in err


def test_data_of_another_version_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker" / "meta.properties").write_text("version=0\nbroker.id=1\n")
    process = _up("--data", str(tmp_path), *FREE_PORTS)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (1, "")
    assert "penstock up --data DIR" in err


def test_what_to_do_next_is_five_lines_that_can_be_pasted() -> None:
    text = next_steps(
        "127.0.0.1:9092", "http://127.0.0.1:8088", "http://127.0.0.1:9021", ["stock_statistics"]
    )
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    assert len(lines) == 5
    assert any("consume trade-statistics" in line for line in lines)
    assert not any("--bootstrap-servers" in line for line in lines)
    elsewhere = next_steps("127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3", [])
    assert elsewhere.count("--bootstrap-servers 127.0.0.1:1") == 4
    assert "shell http://127.0.0.1:2" in elsewhere


def test_a_script_that_takes_long_to_start_shows_its_progress(tmp_path: Path) -> None:
    said: list[str] = []
    waits = "import sys, time\nprint('warming up', flush=True)\ntime.sleep(6)\nprint('ready', flush=True)"
    service = Service("slow", ("-c", waits), ready_within_s=60, stop_within_s=5, may_finish=True)
    with Supervisor(tmp_path / "logs", said.append) as supervisor:
        supervisor.start(service)
    starting = [line for line in said if "[STARTING]" in line]
    assert starting
    assert starting[0].endswith("s: warming up")
