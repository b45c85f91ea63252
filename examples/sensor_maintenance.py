"""Sensor maintenance: machines that run hot for ten minutes are looked after, though readings come late.

    sensor-readings     press-7  {"celsius": 91.5, "time": 1767623400000}      out of order, some very late
    maintenance         press-7  {"from": 1767623400000, "average": 90.2, "readings": 600, "hot": true}
    late-readings       press-7  the readings that came after their window was closed

Readings count at the time they were taken. A window of ten minutes is told as soon as it has a reading, and
again with each that changes it; for twenty minutes more it takes late ones, and an alarm that was wrong is
taken back. What comes later still changes nothing, but does not vanish: it goes to a topic of its own.

    python examples/sensor_maintenance.py --bootstrap-servers 127.0.0.1:9092
"""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from typing import Any

from penstock.streams import (
    Application,
    JsonSerde,
    Materialized,
    Processor,
    Record,
    StreamsBuilder,
    StringSerde,
    TimeWindows,
    Topology,
    Windowed,
    run,
)

READINGS, MAINTENANCE, LATE = "sensor-readings", "maintenance", "late-readings"
WINDOWS = TimeWindows(timedelta(minutes=10), grace=timedelta(minutes=20))
HOT_CELSIUS = 85.0


def topology() -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=JsonSerde())
    readings = builder.stream(READINGS, timestamp_extractor=reading_time)
    (
        readings.group_by_key()
        .windowed_by(WINDOWS)
        .aggregate(dict, add_reading, materialized=Materialized("averages", value_serde=JsonSerde()))
        .to_stream()
        .map(judged)
        .to(MAINTENANCE, key_serde=StringSerde())
    )
    readings.process(TooLate).to(LATE)
    return builder.build()


def reading_time(record: Any, partition_time: int) -> int:
    return int(record.value["time"])


def add_reading(machine: str, reading: dict[str, Any], so_far: dict[str, Any]) -> dict[str, Any]:
    return {
        "readings": so_far.get("readings", 0) + 1,
        "sum": so_far.get("sum", 0.0) + reading["celsius"],
    }


def judged(window: Windowed, gathered: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    average = round(gathered["sum"] / gathered["readings"], 1)
    value = {
        "from": window.start,
        "average": average,
        "readings": gathered["readings"],
        "hot": average >= HOT_CELSIUS,
    }
    return window.key, value


class TooLate(Processor):
    """Lets through what the windows no longer take: stream time has passed their end and grace."""

    def process(self, record: Record) -> None:
        window_end = (record.timestamp // WINDOWS.size_ms + 1) * WINDOWS.size_ms
        if window_end + WINDOWS.grace_ms <= self.context.current_stream_time_ms:
            self.context.forward(record)


def main() -> int:
    parser = argparse.ArgumentParser(description="Machines that run hot, from readings that come late.")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--state-dir", help="where local state is kept")
    parser.add_argument("--master", default="local[*]", help="Spark's: this machine, or spark://host:port")
    options = parser.parse_args()
    application = Application(
        topology(), "sensor-maintenance", options.bootstrap_servers, state_dir=options.state_dir
    )
    return run(
        application,
        topics={name: {} for name in (READINGS, MAINTENANCE, LATE)},
        partitions=4,
        master=options.master,
    )


if __name__ == "__main__":
    sys.exit(main())
