"""Debian's kcat, with the librdkafka of its day."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable

import pytest

from tests.compat.expectations import CODECS, numbers

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")


def kcat(*arguments: str, given: bytes = b"") -> bytes:
    done = subprocess.run(["kcat", *arguments], input=given, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("codec", CODECS)
def test_keys_headers_and_values_come_back_in_every_codec(
    servers: str, topic: Callable[[int], str], codec: str
) -> None:
    name = topic(1)
    lines = "".join(f"k{index}\tvalue {index}\n" for index in range(500))
    kcat("-P", "-b", servers, "-t", name, "-K", "\t", "-H", "origin=kcat", "-z", codec, given=lines.encode())
    out = kcat("-C", "-b", servers, "-t", name, "-o", "beginning", "-e", "-q", "-J")
    received = [json.loads(line) for line in out.splitlines()]
    assert [(item["key"], item["payload"]) for item in received] == [
        (f"k{index}", f"value {index}") for index in range(500)
    ]
    assert [item["offset"] for item in received] == list(range(500))
    assert received[0]["headers"] == ["origin", "kcat"]


def test_a_hundred_thousand_records_with_acks_all_come_back_exactly(
    servers: str, topic: Callable[[int], str]
) -> None:
    name, values = topic(1), numbers()
    kcat("-P", "-b", servers, "-t", name, "-X", "acks=all", given=b"\n".join(values))
    assert kcat("-C", "-b", servers, "-t", name, "-o", "beginning", "-e", "-q").splitlines() == values


def test_metadata_is_listed(servers: str, topic: Callable[[int], str]) -> None:
    name = topic(3)
    listed = json.loads(kcat("-L", "-b", servers, "-t", name, "-J"))
    (found,) = listed["topics"]
    assert [part["leader"] for part in found["partitions"]] == [1, 1, 1]
