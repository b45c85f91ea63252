"""Reprocessing: version 2 of an application beside version 1, over the same events from their beginning.

The application counts visits of each page. Version 1 counts every view; version 2 leaves out robots. The
events are still in their topic, so nothing is migrated: version 2 has an application id, state and an output
topic of its own, reads everything again, and both run until readers have moved over.

    page-events       /pricing  {"visitor": "v-17", "robot": false}
    visits-v1         /pricing  → 1043
    visits-v2         /pricing  → 512

    python examples/reprocessing.py --version 1 --bootstrap-servers 127.0.0.1:9092
    python examples/reprocessing.py --version 2 --bootstrap-servers 127.0.0.1:9092

Afterwards version 1 is stopped, and its offsets and internal topics are removed:

    penstock streams reset --application-id visits-v1 --input-topics page-events
"""

from __future__ import annotations

import argparse
import sys

from penstock.streams import Application, JsonSerde, LongSerde, StreamsBuilder, StringSerde, Topology, run

EVENTS = "page-events"


def topology(version: int) -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=JsonSerde())
    events = builder.stream(EVENTS)
    if version >= 2:
        events = events.filter_not(lambda page, event: event.get("robot", False))
    counts = events.group_by_key().count(materialized="visits")
    counts.to_stream().to(output(version), value_serde=LongSerde())
    return builder.build()


def output(version: int) -> str:
    return f"visits-v{version}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Visits of pages, in two versions.")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--version", type=int, choices=(1, 2), default=1)
    parser.add_argument("--state-dir", help="where local state is kept")
    parser.add_argument("--master", default="local[*]", help="Spark's: this machine, or spark://host:port")
    options = parser.parse_args()
    application = Application(
        topology(options.version),
        f"visits-v{options.version}",
        options.bootstrap_servers,
        state_dir=options.state_dir,
    )
    topics = {EVENTS: {}, output(options.version): {"cleanup.policy": "compact"}}
    return run(application, topics=topics, partitions=4, master=options.master)


if __name__ == "__main__":
    sys.exit(main())
