"""The supervisor with real child processes: order, failures, deadlines, signals, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.platform.process import Service
from penstock.platform.supervisor import ServiceFailed, Supervisor
from tests.platform.scripts import (
    DIES_AT_ONCE,
    DIES_LATER,
    FINISHES,
    LEAVES_ANOTHER,
    OBEDIENT,
    SILENT,
    STUBBORN,
    service,
)

pytestmark = pytest.mark.timeout(60)


def _run(tmp_path: Path, services: list[Service], say: Callable[[str], None]) -> None:
    with Supervisor(tmp_path / "logs", say) as supervisor:
        for each in services:
            supervisor.start(each)
        supervisor.watch()


def _is_alive(pid: int) -> bool:
    """False for a process that is gone or only waits to be collected."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _wait_until(condition: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_services_are_started_in_order_and_stopped_in_reverse(tmp_path: Path) -> None:
    said: list[str] = []
    with Supervisor(tmp_path / "logs", said.append) as supervisor:
        assert supervisor.start(service(tmp_path, "first", OBEDIENT)) == "here"
        supervisor.start(service(tmp_path, "second", OBEDIENT))
    assert said == ["first is [UP] here", "second is [UP] here", "second is [DOWN]", "first is [DOWN]"]
    assert (tmp_path / "logs" / "first.log").read_text() == "ready here\n"


def test_a_service_that_dies_at_start_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    services = [service(tmp_path, "good", OBEDIENT), service(tmp_path, "bad", DIES_AT_ONCE)]
    said: list[str] = []
    with pytest.raises(ServiceFailed, match=r"bad has ended with exit code 3.*\n.*the cause of it"):
        _run(tmp_path, services, said.append)
    assert said == ["good is [UP] here", "good is [DOWN]"]


@pytest.fixture
def quick_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.platform.restarts.FIRST_DELAY_S", 0.01)


@pytest.mark.usefixtures("quick_restarts")
def test_an_essential_service_that_dies_too_often_ends_the_platform(tmp_path: Path) -> None:
    said: list[str] = []
    bad = replace(service(tmp_path, "bad", DIES_LATER, may_finish=True), essential=True)
    with pytest.raises(
        ServiceFailed, match=r"(?s)bad has ended with exit code 1, and has died 5 .*NameError"
    ):
        _run(tmp_path, [service(tmp_path, "good", OBEDIENT), bad], said.append)
    assert said[:4] == [
        "good is [UP] here",
        "bad is [UP]",
        "bad has ended with exit code 1. It starts again in 0.01 s",
        "bad is [UP] again",
    ]
    assert said[-1] == "good is [DOWN]"


@pytest.mark.usefixtures("quick_restarts")
def test_the_platform_goes_on_without_another_service_that_dies_too_often(tmp_path: Path) -> None:
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "goes on without" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    services = [service(tmp_path, "good", OBEDIENT), service(tmp_path, "bad", DIES_LATER)]
    _run(tmp_path, services, say)
    assert said[-3].startswith("bad has [FAILED]. bad has ended with exit code 1, and has died 5 times")
    assert "NameError" in said[-3]
    assert said[-1] == "good is [DOWN]"


def test_a_service_that_is_killed_is_started_again_and_stopped_in_its_place(tmp_path: Path) -> None:
    said: list[str] = []
    pids: list[int] = []

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("first is [UP]"):
            pids.append(int(line.split()[-1]))
            if len(pids) == 3:
                os.kill(os.getpid(), signal.SIGTERM)
        if len(pids) < 3 and (line.startswith("second is [UP]") or "[UP] again" in line):
            os.kill(pids[-1], signal.SIGKILL)

    first = OBEDIENT.replace('"ready here"', '"ready", __import__("os").getpid()')
    services = [service(tmp_path, "first", first), service(tmp_path, "second", OBEDIENT)]
    _run(tmp_path, services, say)
    assert len(set(pids)) == 3
    assert [line for line in said if "first" in line] == [
        f"first is [UP] {pids[0]}",
        "first was ended by SIGKILL. It starts again in 0.5 s",
        f"first is [UP] again {pids[1]}",
        "first was ended by SIGKILL. It starts again in 1 s",
        f"first is [UP] again {pids[2]}",
        "first is [DOWN]",
    ]
    assert said[-2:] == ["second is [DOWN]", "first is [DOWN]"]


@pytest.mark.usefixtures("quick_restarts")
def test_a_service_that_is_not_ready_when_started_again_counts_as_dead(tmp_path: Path) -> None:
    once = "import os, sys\nfirst = not os.path.exists(__file__ + '.ran')\nopen(__file__ + '.ran', 'w')\n"
    source = f"{once}if first:\n    print('ready', flush=True)\n    sys.exit(1)\n{SILENT}"
    bad = replace(service(tmp_path, "bad", source, within_s=0.3), essential=True)
    said: list[str] = []
    with pytest.raises(ServiceFailed, match="bad was not ready in time, and has died 5 times"):
        _run(tmp_path, [bad], said.append)
    assert said[1:3] == [
        "bad has ended with exit code 1. It starts again in 0.01 s",
        "bad was not ready in time. It starts again in 0.02 s",
    ]


def test_a_stop_is_obeyed_while_a_service_waits_for_its_next_start(tmp_path: Path) -> None:
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "starts again" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    _run(tmp_path, [service(tmp_path, "good", OBEDIENT), service(tmp_path, "bad", DIES_LATER)], say)
    assert said[-1] == "good is [DOWN]"


def test_a_service_that_is_never_ready_fails_at_its_deadline(tmp_path: Path) -> None:
    services = [service(tmp_path, "silent", SILENT, within_s=1.0)]
    with pytest.raises(ServiceFailed, match="silent was not ready in time, without a word"):
        _run(tmp_path, services, print)


def test_a_script_may_finish_after_it_was_ready(tmp_path: Path) -> None:
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if "FINISHED" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    with Supervisor(tmp_path / "logs", say) as supervisor:
        supervisor.start(service(tmp_path, "short", FINISHES, may_finish=True))
        supervisor.watch()
    assert said == ["short is [UP]", "short has [FINISHED]"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_watch_and_the_former_handler_comes_back(tmp_path: Path, number: int) -> None:
    before = signal.getsignal(number)
    with Supervisor(tmp_path / "logs", print) as supervisor:
        supervisor.start(service(tmp_path, "calm", OBEDIENT))
        os.kill(os.getpid(), number)
        supervisor.watch()
    assert signal.getsignal(number) is before


def test_a_service_that_does_not_stop_is_killed_and_that_is_a_failure(tmp_path: Path) -> None:
    services = [service(tmp_path, "mule", STUBBORN, within_s=1.0)]

    def stop_when_up(line: str) -> None:
        if "UP" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(ServiceFailed, match="mule did not stop in time and had to be killed"):
        _run(tmp_path, services, stop_when_up)


def test_what_a_service_has_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.platform.process.LEFTOVERS_S", 0.2)
    with Supervisor(tmp_path / "logs", print) as supervisor:
        pid = int(supervisor.start(service(tmp_path, "parent", LEAVES_ANOTHER)))
        assert _is_alive(pid)
    _wait_until(lambda: not _is_alive(pid))


def test_a_supervisor_that_is_killed_takes_its_services_with_it(tmp_path: Path) -> None:
    script = tmp_path / "service.py"
    script.write_text("import os; print('ready', os.getpid(), flush=True)\n" + OBEDIENT)
    source = (
        "from pathlib import Path\n"
        "from penstock.platform.process import Service\n"
        "from penstock.platform.supervisor import Supervisor\n"
        f"logs, script = Path({str(tmp_path / 'logs')!r}), {str(script)!r}\n"
        "with Supervisor(logs, lambda line: print(line, flush=True)) as supervisor:\n"
        "    supervisor.start(Service('one', (script,), 20, 20))\n"
        "    supervisor.watch()\n"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert supervisor.stdout is not None
    pid = int(supervisor.stdout.readline().split()[-1])
    assert _is_alive(pid)
    supervisor.kill()
    supervisor.wait(10)
    _wait_until(lambda: not _is_alive(pid))
    supervisor.stdout.close()
