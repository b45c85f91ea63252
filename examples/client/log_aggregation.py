"""Log aggregation: programs send their log lines to one topic, and a reader writes one file for each program.

    python examples/client/log_aggregation.py [SERVERS] [DIRECTORY]

`TopicHandler` is a handler of Python's own logging. It never holds a program up for long: when the broker is
away, lines wait in the producer's buffer, and are dropped when that is full.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path

from penstock.client import Consumer, Producer, StringDeserializer, StringSerializer

TOPIC = "logs"


class TopicHandler(logging.Handler):
    """Keys are names of programs, so lines of a program stay in order."""

    def __init__(self, servers: str, program: str) -> None:
        super().__init__()
        self._program = program
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "key.serializer": StringSerializer,
                "value.serializer": StringSerializer,
                "max.block.ms": 100,
                "linger.ms": 50,
                "compression.type": "zstd",
            }
        )

    def emit(self, record: logging.LogRecord) -> None:
        line = {
            "at": record.created,
            "level": record.levelname,
            "logger": record.name,
            "text": record.getMessage(),
        }
        self._producer.send(TOPIC, json.dumps(line), key=self._program)

    def close(self) -> None:
        self._producer.close()
        super().close()


def collect(servers: str, directory: Path, goes_on: Callable[[], bool]) -> None:
    """A file for each program; offsets are committed when the lines are on disk."""
    settings = {
        "bootstrap.servers": servers,
        "group.id": "log-files",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "key.deserializer": StringDeserializer,
        "value.deserializer": StringDeserializer,
    }
    with Consumer(settings) as consumer:
        consumer.subscribe([TOPIC])
        while goes_on():
            lines: dict[str, list[str]] = {}
            for record in consumer.poll(0.5):
                lines.setdefault(record.key, []).append(record.value)
            for program, found in lines.items():
                with (directory / f"{program}.jsonl").open("a") as file:
                    file.writelines(f"{line}\n" for line in found)
            consumer.commit_sync()


if __name__ == "__main__":
    given = [*sys.argv[1:], *("127.0.0.1:9092", "collected-logs")[len(sys.argv) - 1 :]]
    Path(given[1]).mkdir(exist_ok=True)
    collect(given[0], Path(given[1]), lambda: True)
