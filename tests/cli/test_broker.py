"""`penstock broker` as a process: its ready line, its settings, its clean end, and what it refuses."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.cli.broker import command_line_settings
from penstock.cli.main import run
from penstock.client.admin import Admin
from tests.cli.commands import DEADLINE_S, command, penstock

pytestmark = pytest.mark.timeout(60)


@contextmanager
def _broker(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running broker and the address of its ready line."""
    process = subprocess.Popen(
        command("broker", *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        word, _, address = process.stdout.readline().strip().partition(" ")
        assert word == "ready"
        yield process, address
    finally:
        process.kill()
        process.communicate(timeout=DEADLINE_S)


def test_the_ready_line_names_the_port_and_sigterm_is_a_clean_shutdown(tmp_path: Path) -> None:
    with _broker("--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")) as (process, address):
        host, port = address.split(":")
        assert host == "127.0.0.1"
        assert int(port) > 0
        Admin(address).create_topic("kept", 3)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0
        assert (out, "Traceback" in err) == ("", False)
    with _broker("--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")) as (process, address):
        assert len(Admin(address).topic("kept").partitions) == 3
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0


def test_settings_come_from_file_and_command_line(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        f"listeners=PLAINTEXT://:9092\nnum.partitions=5\nlog.dirs={tmp_path / 'data'}\nnum.io.threads=8\n"
    )
    arguments = ("--config", str(file), "--listen", "127.0.0.1:0", "--set", "log.retention.hours=3")
    with _broker(*arguments) as (_, address):
        admin = Admin(address)
        admin.create_topic("t")
        detail = admin.topic_detail("t")
        assert len(detail.info.partitions) == 5
        assert detail.config("retention.ms") == "10800000"


def test_a_directory_of_another_broker_is_a_sentence(tmp_path: Path) -> None:
    arguments = ("--listen", "127.0.0.1:0", "--data", str(tmp_path))
    with _broker(*arguments):
        said = penstock("broker", *arguments)
    assert said.code == 1
    assert f"Another broker uses {tmp_path} already" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--listen", "no-such-host.invalid:0"), "there is no address under that name"),
        (("--listen", "192.0.2.1:0"), "this machine does not have that address"),
        (("--listen", "127.0.0.1:0", "--data", "/proc/nowhere"), "The broker cannot use its data"),
    ],
)
def test_what_the_machine_refuses_is_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    said = penstock("broker", "--data", str(tmp_path), *arguments)
    assert said.code == 1
    assert sentence in said.err
    assert "Traceback" not in said.err


def test_a_port_in_use_is_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = penstock("broker", "--listen", f"127.0.0.1:{port}", "--data", str(tmp_path))
    assert said.code == 1
    assert f"Cannot listen on 127.0.0.1:{port}: the port is in use" in said.err
    assert "--listen" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "num.partitions=many"), "Invalid value many for configuration num.partitions"),
        (("--set", "num.partitions"), "name=value"),
        (("--config", "no-such-file"), "no-such-file"),
        (("--listen", "127.0.0.1:99999"), "HOST:PORT"),
        (("--set", "listeners=SSL://:9093"), "ssl.keystore.location"),
    ],
)
def test_a_bad_setting_is_a_sentence_and_exit_code_2(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["broker", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_without_a_word_about_listeners_the_broker_stays_on_this_machine() -> None:
    local = {"listeners": "PLAINTEXT://127.0.0.1:9092"}
    assert command_line_settings(None, None, None, {}, {}) == local
    assert command_line_settings(None, None, "server.properties", {}, {}) == {}
    assert command_line_settings(None, None, None, {}, {"KAFKA_LISTENERS": "PLAINTEXT://:1"}) == {}
    given = command_line_settings(("::1", 0), "data", None, {"log.dirs": "other"}, {})
    assert given == {"listeners": "PLAINTEXT://[::1]:0", "log.dirs": "other"}
