"""Kafka's own transforms in one JVM, asked line by line; and ours, in the same form."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data.record import ConnectRecord, Header
from penstock.connect.errors import ConnectError
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.table import transform
from tests.peers.apache_kafka import QUICK_JAVA, Unavailable, tool_jars

HERE = Path(__file__).parent
Case = dict[str, Any]


def case(kind: str, config: dict[str, str], value: Any, **more: Any) -> Case:
    """A question: `value` and `key` are the text of JSON, in its envelope if `schemas`."""
    return {
        "type": kind,
        "config": config,
        "value": value,
        "key": more.get("key"),
        "headers": more.get("headers", []),
        "schemas": more.get("schemas", True),
        "topic": more.get("topic", "events"),
        "partition": more.get("partition", 3),
        "offset": more.get("offset", 42),
        "timestamp": more.get("timestamp", 1_700_000_000_123),
    }


class Judge:
    def __init__(self, classes: Path) -> None:
        class_path = f"{classes}:{tool_jars()}/*"
        compiler = ["javac", *(f"-J{each}" for each in QUICK_JAVA), "-nowarn", "-cp", class_path]
        subprocess.run(
            [*compiler, "-d", str(classes), str(HERE / "TransformJudge.java")], check=True, timeout=120
        )
        self._process = subprocess.Popen(
            ["java", "-Xmx256m", "-Dlog4j2.level=OFF", *QUICK_JAVA, "-cp", class_path, "TransformJudge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def ask(self, asked: Case) -> Case:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer: Case = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait(10)


def ours(asked: Case) -> Case:
    """What our transform makes of the same question; an error by its text."""
    converter = JsonConverter({"schemas.enable": asked["schemas"]})

    def read(text: str | None) -> Any:
        return converter.to_connect(None if text is None else text.encode())

    def shown(schema: Any, value: Any) -> str | None:
        data = converter.from_connect(schema, value)
        return None if data is None else data.decode()

    try:
        key, value = read(asked["key"]), read(asked["value"])
        headers = []
        for name, text in asked["headers"]:
            held = read(text)
            headers.append(Header(name, held.value, held.schema))
        record = ConnectRecord(
            asked["topic"],
            asked["partition"],
            key.value,
            key.schema,
            value.value,
            value.schema,
            asked["timestamp"],
            tuple(headers),
            asked["offset"],
        )
        done = transform("type", asked["type"], Settings(asked["config"])).apply(record)
        if done is None:
            return {"dropped": True}
        return {
            "topic": done.topic,
            "key": shown(done.key_schema, done.key),
            "value": shown(done.value_schema, done.value),
            "headers": [[each.key, shown(each.schema, each.value)] for each in done.headers],
        }
    except ConnectError as error:
        return {"error": type(error).__name__, "message": str(error)}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with tempfile.TemporaryDirectory() as classes:
        try:
            made = Judge(Path(classes))
        except Unavailable as reason:
            pytest.skip(str(reason))
        yield made
        made.close()
