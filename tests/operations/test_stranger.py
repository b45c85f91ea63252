"""A stranger's script: everything that the README, the tutorial and the guides tell a reader to type is typed
into one shell, in order, against a platform that `penstock up` has started.

Addresses are those of the test's own platform. A block that cannot be tried here says so and why, in a
comment before it: `<!-- untried: … -->`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.sources import ROOT

BLOCK = re.compile(
    r"(?:<!-- untried: (?P<why>[^>]+) -->\n)?```(?P<language>sh|bash|python)\n(?P<text>.*?)```", re.DOTALL
)
PAGES = ("README.md", "docs/tutorial.md", "docs/howto.md", "docs/operations.md")
OPTIONS = ("", "registry-", "rest-", "connect-", "sql-", "console-")
TOLD = {
    "broker": "127.0.0.1:9092",
    "registry": "127.0.0.1:8081",
    "rest": "127.0.0.1:8082",
    "connect": "127.0.0.1:8083",
    "sql": "127.0.0.1:8088",
    "console": "127.0.0.1:9021",
}
"""Where the documentation says that each service is."""
START_SECONDS = 200
PAGE_SECONDS = 600
"""What the README promises: ten minutes."""


def blocks(page: str) -> list[str]:
    """What a shell is given. Of Python only the client's example: the others run for ever, and have tests."""
    texts = []
    for found in BLOCK.finditer((ROOT / page).read_text()):
        if found["why"] is not None:
            continue
        if found["language"] != "python":
            texts.append(found["text"])
        elif "confluent_kafka" in found["text"]:
            texts.append(f"python - <<'PYTHON'\n{found['text']}PYTHON\n")
    return texts


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What each address of the documentation is here."""
    data = tmp_path_factory.mktemp("stranger")
    ports = [word for name in OPTIONS for word in (f"--{name}listen", "127.0.0.1:0")]
    command = [sys.executable, "-m", "penstock", "up", "--data", str(data), *ports]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0)
    try:
        yield addresses(process)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(120)


def addresses(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    found: dict[str, str] = {}
    deadline = time.monotonic() + START_SECONDS
    while not set(TOLD.values()) <= set(found):
        assert time.monotonic() < deadline
        words = process.stdout.readline().split()
        assert words, "the platform has ended"
        if words[0] in TOLD and "[UP]" in words:
            found[TOLD[words[0]]] = words[-1].removeprefix("http://")
    return found


@pytest.mark.timeout(PAGE_SECONDS + START_SECONDS)
@pytest.mark.parametrize("page", PAGES)
def test_everything_on_the_page_can_be_pasted(page: str, platform: dict[str, str], tmp_path: Path) -> None:
    script = "set -e\n" + "\n".join(blocks(page))
    for told, here in platform.items():
        script = script.replace(told, here)
    script = script.replace(".venv/bin/", "")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PENSTOCK_BOOTSTRAP_SERVERS": platform["127.0.0.1:9092"],
        "PENSTOCK_REGISTRY_URL": f"http://{platform['127.0.0.1:8081']}",
        "PENSTOCK_CONFIG_DIR": str(tmp_path / "config"),
    }
    done = subprocess.run(
        ["bash", "-x", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PAGE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert "Traceback" not in done.stderr
    if page == "docs/tutorial.md":
        for expected in (
            "alice bought 5 apples",
            '{"customer":"alice","amount":12.5}',
            "billing",
            '"clicks"',
        ):
            assert expected in done.stdout, (expected, done.stdout)
