"""Errors to a topic of their own, the rest to another: one record at a time, without state.

    log-events     billing  {"level": "ERROR", "message": "card refused"}
    log-errors     billing  the same record, for whoever is on call
    log-routine    billing  every other one, for whoever looks some day
    log-unknown             what is no log event at all, as it was, with headers that say why

A record that cannot be read must not stop the others: it goes to a dead-letter topic with the reason.

    python examples/errors_apart.py --bootstrap-servers 127.0.0.1:9092
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from penstock.streams import (
    Application,
    JsonSerde,
    KStream,
    StreamsBuilder,
    StringSerde,
    Topology,
    run,
)

EVENTS, ERRORS, ROUTINE, UNKNOWN = "log-events", "log-errors", "log-routine", "log-unknown"
SETTINGS = {"errors.dead.letter.queue.topic.name": UNKNOWN}


def topology() -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=JsonSerde())
    (
        builder.stream(EVENTS)
        .split()
        .branch(is_error, chain=to_topic(ERRORS))
        .default_branch(chain=to_topic(ROUTINE))
    )
    return builder.build()


def is_error(service: str | None, event: dict[str, Any]) -> bool:
    return event.get("level") in ("ERROR", "FATAL")


def to_topic(topic: str) -> Any:
    def chain(stream: KStream[Any, Any]) -> None:
        stream.to(topic)

    return chain


def main() -> int:
    parser = argparse.ArgumentParser(description="Errors to one topic, the rest to another.")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--state-dir", help="where local state is kept")
    parser.add_argument("--master", default="local[*]", help="Spark's: this machine, or spark://host:port")
    options = parser.parse_args()
    application = Application(
        topology(), "errors-apart", options.bootstrap_servers, SETTINGS, state_dir=options.state_dir
    )
    return run(
        application,
        topics={name: {} for name in (EVENTS, ERRORS, ROUTINE, UNKNOWN)},
        partitions=4,
        master=options.master,
    )


if __name__ == "__main__":
    sys.exit(main())
