"""`penstock up --secure` as a person runs it: what it prints is typed, and works; no secret is seen."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

pytestmark = pytest.mark.timeout(300)

SECONDS = 60
FREE_PORTS = [
    word
    for name in ("", "registry-", "rest-", "connect-", "sql-", "console-")
    for word in (f"--{name}listen", "127.0.0.1:0")
]


def _run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, env=environment)


def _read_until(process: subprocess.Popen[str], end: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if line.strip().startswith(end):
            return lines
    raise AssertionError("\n".join(lines))


def _command_lines(root: int) -> str:
    """What `ps` shows of a process and everything below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return "\n".join(found)


def test_everything_is_on_tls_and_passwords_with_one_command(tmp_path: Path, long_form: bool) -> None:
    data = tmp_path / "data"
    command = [sys.executable, "-m", "penstock", "up", "--secure", "--data", str(data), *FREE_PORTS]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    )
    folder = data / "security"
    try:
        lines = _read_until(process, "Its rights:")
        printed = "\n".join(lines)
        urls = {
            name: re.search(rf"{name} is \[UP\] (\S+)", printed)[1]  # type: ignore[index]
            for name in ("registry", "rest", "connect", "sql", "console")
        }
        assert all(url.startswith("https://") for url in urls.values()), urls
        servers = re.search(r"broker is \[UP\] (\S+)", printed)[1]  # type: ignore[index]
        secret = [path for path in folder.iterdir() if path.name != "authority.pem"]
        assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
        _clients_connect(folder, urls, printed, long_form)
        _strangers_do_not(folder, servers, urls)
        secrets = [(folder / f"{user}.password").read_text().strip() for user in ("admin", "penstock")]
        seen = printed + _command_lines(process.pid)
        seen += "".join(path.read_text(errors="replace") for path in (data / "logs").iterdir())
        assert not [secret for secret in secrets if secret in seen]
        metadata = b"".join(path.read_bytes() for path in (data / "broker").rglob("*") if path.is_file())
        assert not [secret for secret in secrets if secret.encode() in metadata]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS)


def _typed(printed: str) -> list[str]:
    """The commands that were printed."""
    text = printed.replace("\\\n", " ")
    found = re.findall(r"((?:kafka-topics|penstock [a-z]+|kcat -F|curl -K) .*)$", text, re.MULTILINE)
    return [line for line in found if "…" not in line]


def _clients_connect(folder: Path, urls: dict[str, str], printed: str, long_form: bool) -> None:
    python = re.search(r"(Producer\(dict\(.*\)\))$", printed, re.MULTILINE)
    assert python is not None
    producer = eval(python[1], {"Producer": Producer})
    lines = (folder / "librdkafka.conf").read_text().splitlines()
    admin = AdminClient(dict(line.split("=", 1) for line in lines))
    for future in admin.create_topics([NewTopic("made", 1, 1)]).values():
        future.result(SECONDS)
    producer.produce("made", b"hello")
    assert producer.flush(SECONDS) == 0
    typed = _typed(printed)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def run(words: str, more: str = "") -> str:
        command = next(line for line in typed if words in line).replace("NAME", "carol")
        done = _run("bash", "-c", command + more, PATH=path)
        assert done.returncode == 0, (command, done)
        return done.stdout

    for words in ("kafka-topics", "penstock topic list", "kcat -F", f"{urls['rest']}/topics"):
        assert "made" in run(words), words
    assert run(f"{urls['registry']}/subjects") == "[]"
    run("penstock schema list")
    run("penstock connector list")
    run("penstock sql shell", ' -e "SHOW CONNECTORS;"')
    if long_form:  # which starts Spark
        source = "('connector.class'='DatagenConnector', 'kafka.topic'='made', 'quickstart'='users')"
        create = f"CREATE SOURCE CONNECTOR C WITH {source}; DESCRIBE CONNECTOR C;"
        assert "RUNNING" in run("penstock sql shell", f' -e "{create}"')
        assert "C\tsource\tRUNNING" in run("penstock connector list")
    run("penstock user create", " --password-file /dev/stdin <<< secret-of-carol")
    curl = ("curl", "-sS", "-K", str(folder / "curl.conf"))
    info = _run(*curl, f"{urls['sql']}/info")
    assert "kafkaClusterId" in info.stdout, info.stderr
    me = _run(*curl, f"{urls['console']}/api/me")
    assert '"role": "admin"' in me.stdout, me.stderr
    for service in ("schemas", "connectors", "sql"):
        seen = _run(*curl, "-f", f"{urls['console']}/api/{service}")
        assert seen.returncode == 0, (service, seen)


def _strangers_do_not(folder: Path, servers: str, urls: dict[str, str]) -> None:
    paths = {"console": "/api/me", "sql": "/info"}
    for name, url in urls.items():
        path = paths.get(name, "/")
        asked = _run(
            "curl", "-sS", "--cacert", str(folder / "authority.pem"), "-o", "/dev/null", "-w", "%{http_code}",
            f"{url}{path}",
        )  # fmt: skip
        assert asked.stdout == "401", (url, asked)
        assert _run("curl", "-sS", f"{url}/").returncode != 0, "the authority is not the system's"
    refused = _run("kcat", "-b", servers, "-L", "-m", "5")
    assert refused.returncode != 0


def test_data_without_users_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker" / "meta.properties").write_text("version=1\n")
    done = _run(sys.executable, "-m", "penstock", "up", "--secure", "--data", str(tmp_path), *FREE_PORTS)
    assert done.returncode == 1
    assert "was made without --secure" in done.stderr
