"""The example as people run it: its statistics are recomputed from the trades, before and after a restart."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.client.messages import Messages
from penstock.client.paging import Oldest

pytestmark = pytest.mark.timeout(300)

EXAMPLE = Path(__file__).parents[2] / "examples" / "stock_statistics.py"
WINDOW, SLIDE = timedelta(seconds=5), timedelta(seconds=1)
STOP_WITHIN_S = 60
NEXT_WINDOW_WITHIN_S = 90


def test_statistics_are_right_and_go_on_after_a_restart(penstock_broker: Any, tmp_path: Path) -> None:
    before = _run_until_ready(penstock_broker.bootstrap_servers, tmp_path)
    assert before
    after = _run_until_ready(penstock_broker.bootstrap_servers, tmp_path, known=before.keys())
    assert set(before.items()) < set(after.items()), "what was written stays, and more comes"


def _run_until_ready(
    bootstrap_servers: str, data: Path, known: Collection[tuple[str, str]] = ()
) -> dict[tuple[str, str], tuple[float, int, float]]:
    """Runs the example until it has written a window that was not known, stops it, and checks all topics."""
    arguments = [
        "--bootstrap-servers",
        bootstrap_servers,
        "--data",
        str(data),
        "--rate",
        "100",
        "--seed",
        "7",
    ]
    with (data / "stderr").open("w+") as err:
        process = subprocess.Popen(
            [sys.executable, str(EXAMPLE), *arguments], stdout=subprocess.PIPE, stderr=err, text=True
        )
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            assert any(line.startswith("ready") for line in lines), (data / "stderr").read_text()
            _await_other_window(bootstrap_servers, known)
            process.send_signal(signal.SIGTERM)
            process.stdout.read()
            assert process.wait(STOP_WITHIN_S) == 0, (data / "stderr").read_text()
        finally:
            process.kill()
            process.stdout.close()
    assert "Traceback" not in (data / "stderr").read_text()
    return _checked(bootstrap_servers)


def _await_other_window(bootstrap_servers: str, known: Collection[tuple[str, str]]) -> None:
    """A batch that was cut short is written again after the restart, so the first rows may be known ones."""
    deadline = time.monotonic() + NEXT_WINDOW_WITHIN_S
    while all(_place(row) in known for row in _values(bootstrap_servers, "trade-statistics")):
        assert time.monotonic() < deadline, "no new window was written"
        threading.Event().wait(0.25)


def _place(row: dict[str, Any]) -> tuple[str, str]:
    return row["symbol"], row["window_start"]


def _checked(bootstrap_servers: str) -> dict[tuple[str, str], tuple[float, int, float]]:
    """The statistics by symbol and window, after comparing each with what the trades say."""
    found: dict[tuple[str, str], tuple[float, int, float]] = {}
    for row in _values(bootstrap_servers, "trade-statistics"):
        figures = (row["minimum_ask"], row["trades"], row["average_ask"])
        key = _place(row)
        assert found.setdefault(key, figures) == figures, "a window has two results"
        assert _instant(row["window_end"]) - _instant(row["window_start"]) == WINDOW
    expected = _recomputed(_values(bootstrap_servers, "trades"))
    newest = max(start for _, start in found)
    due = {key: figures for key, figures in expected.items() if key[1] <= newest}
    assert found.keys() == due.keys(), "a window is missing, or has no trades"
    for key, (minimum, count, average) in due.items():
        assert found[key] == (minimum, count, pytest.approx(average, abs=1e-4)), key
    return found


def _recomputed(trades: Iterable[dict[str, Any]]) -> dict[tuple[str, str], tuple[float, int, float]]:
    asks: dict[tuple[str, str], list[float]] = defaultdict(list)
    for trade in trades:
        at = _instant(trade["time"])
        last_start = at.replace(microsecond=0)
        for back in range(WINDOW // SLIDE):
            start = last_start - back * SLIDE
            asks[trade["symbol"], start.strftime("%Y-%m-%dT%H:%M:%SZ")].append(trade["ask"])
    return {key: (min(each), len(each), sum(each) / len(each)) for key, each in asks.items()}


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _values(bootstrap_servers: str, topic: str) -> list[dict[str, Any]]:
    """Every record of a topic, from its beginning to its present end."""
    messages = Messages(bootstrap_servers)
    values: list[dict[str, Any]] = []
    page = messages.page(topic, Oldest(), limit=1000)
    while page.messages:
        values += [json.loads(message.value or b"null") for message in page.messages]
        if page.next is None:
            break
        page = messages.page(topic, page.next, limit=1000)
    return values
