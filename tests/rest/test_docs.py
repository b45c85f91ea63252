"""The examples of docs/rest.md do what it says, with a real curl."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from typing import Any

import pytest

from tests.house.sources import ROOT
from tests.rest.proxies import Proxy

BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "rest.md").read_text(), re.DOTALL)
CURL = [block for block in BLOCKS if "curl" in block]
ADDRESS = "127.0.0.1:8082"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_examples_run_one_after_the_other(proxy: Proxy) -> None:
    produce, stream, subscribe, read, live, finish, ask = CURL
    answers = shell(proxy, produce)
    assert [at["offset"] for at in answers[0]["offsets"]] == [0, 1]
    cluster = stream.splitlines()[0]
    assert shell(proxy, stream)[0]["offset"] == 2
    assert shell(proxy, subscribe)[0]["instance_id"] == "reader"
    records: list[object] = []
    deadline = time.monotonic() + 20
    while len(records) < 3:
        assert time.monotonic() < deadline
        records += [record["value"]["amount"] for record in shell(proxy, read)[0]]
    assert records == [10, 20, 30]
    assert shell(proxy, live) == []
    assert shell(proxy, finish)[0] == []
    offsets, lags = shell(proxy, f"{cluster}\n{ask}")
    assert offsets == {"beginning_offset": 0, "end_offset": 3}
    assert [lag["lag"] for lag in lags["data"]] == [0]


def shell(proxy: Proxy, block: str) -> list[Any]:
    """The JSON values that the commands print."""
    script = block.replace(ADDRESS, proxy.address).replace("curl ", "curl -f -w '\\n' ")
    result = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines() if line.strip()]
