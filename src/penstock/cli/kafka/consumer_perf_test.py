"""`kafka-consumer-perf-test`: read records as fast as they come, and print how fast that was."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from typing import Any, Final

from penstock.cli.kafka.options import CommandFailed, Given, Parser
from penstock.cli.kafka.perf_figures import MEGABYTE, print_metrics
from penstock.cli.kafka.properties import check_addresses, key_values, load_properties, one_of
from penstock.cli.kafka.simple_date import formatted
from penstock.cli.kafka.starting import script

HEADER: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, "
    "fetch.MB.sec, fetch.nMsg.sec"
)


def consumer_perf_test(words: Sequence[str]) -> int:
    given = _parser().parse_or_help(words)
    wanted = _wanted(given)
    check_addresses(given, "bootstrap-server")
    detailed = given.has("show-detailed-stats")
    if not given.has("hide-header"):
        print(f"{'time, threadId' if detailed else 'start.time, end.time'}, {HEADER}")
    from penstock.client import Consumer
    from penstock.client.api.exceptions import KafkaException

    try:
        with Consumer(_settings(given)) as consumer:
            reading = Reading(given, wanted)
            reading.read(consumer)
            metrics = consumer.metrics() if given.has("print-metrics") else {}
    except KafkaException as error:
        raise CommandFailed(str(error)) from error
    if not detailed:
        reading.print_total()
    print_metrics(metrics)
    return 0


def _wanted(given: Given) -> int:
    for pair in (("topic", "include"), ("messages", "num-records")):
        if given.has(pair[0]) == given.has(pair[1]):
            given.refuse(f"Exactly one of the following arguments is required: [{pair[0]}], [{pair[1]}]")
    if given.has("messages"):
        print("Warning: --messages is deprecated. Use --num-records instead.")
    return int(given.value("messages" if given.has("messages") else "num-records"))


class Reading:
    """One run: what was read, when, and how long the group took to assign partitions."""

    def __init__(self, given: Given, wanted: int) -> None:
        self._given = given
        self._wanted = wanted
        self._records = self._bytes = 0
        self._start_ms = self._joining_since_ms = self._end_ms = _now_ms()
        self._joined_ms = self._joined_lately_ms = 0
        self._reported = (self._start_ms, 0, 0)

    def on_partitions_revoked(self, partitions: Any) -> None:
        self._joining_since_ms = _now_ms()

    def on_partitions_assigned(self, partitions: Any) -> None:
        took = _now_ms() - self._joining_since_ms
        self._joined_ms += took
        self._joined_lately_ms += took

    def on_partitions_lost(self, partitions: Any) -> None:
        self._joining_since_ms = _now_ms()

    def read(self, consumer: Any) -> None:
        given = self._given
        pattern = given.value("include")
        consumer.subscribe(re.compile(pattern) if pattern else [given.value("topic")], self)
        timeout_ms, interval_ms = given.value("timeout"), given.value("reporting-interval")
        last_ms = now_ms = _now_ms()
        while self._records < self._wanted and now_ms - last_ms <= timeout_ms:
            records = consumer.poll(0.1)
            now_ms = _now_ms()
            for record in records:
                last_ms = now_ms
                self._records += 1
                self._bytes += len(record.key or b"") + len(record.value or b"")
            if now_ms - self._reported[0] >= interval_ms:
                self._report(now_ms)
        self._end_ms = _now_ms()
        if self._records < self._wanted:
            print(
                "WARNING: Exiting before consuming the expected number of records: "
                f"timeout ({timeout_ms} ms) exceeded. "
                "You can use the --timeout option to increase the timeout."
            )

    def _report(self, now_ms: int) -> None:
        since_ms, records, size = self._reported
        if self._given.has("show-detailed-stats"):
            lately = (self._records - records, self._bytes - size)
            rates = _rates(lately, now_ms - since_ms, now_ms - since_ms - self._joined_lately_ms)
            print(self._line(f"{self._date(now_ms)}, 0", rates, self._joined_lately_ms, now_ms - since_ms))
        self._joined_lately_ms = 0
        self._reported = (now_ms, self._records, self._bytes)

    def print_total(self) -> None:
        elapsed_ms = self._end_ms - self._start_ms
        rates = _rates((self._records, self._bytes), elapsed_ms, elapsed_ms - self._joined_ms)
        first = f"{self._date(self._start_ms)}, {self._date(self._end_ms)}"
        print(self._line(first, rates, self._joined_ms, elapsed_ms))

    def _line(
        self, first: str, rates: tuple[float, float, float, float], joined_ms: int, elapsed_ms: int
    ) -> str:
        megabytes, records, fetched_megabytes, fetched_records = (f"{rate:.4f}" for rate in rates)
        total = f"{self._bytes / MEGABYTE:.4f}"
        return (
            f"{first}, {total}, {megabytes}, {self._records}, {records}, {joined_ms}, "
            f"{max(0, elapsed_ms - joined_ms)}, {fetched_megabytes}, {fetched_records}"
        )

    def _date(self, moment_ms: int) -> str:
        return formatted(moment_ms, self._given.value("date-format"))


def _rates(amount: tuple[int, int], elapsed_ms: int, fetching_ms: int) -> tuple[float, float, float, float]:
    """Megabytes and records a second, over all the time and over the time without rebalances."""
    records, size = amount
    whole, fetching = max(elapsed_ms, 1) / 1000, max(fetching_ms, 1) / 1000
    megabytes = size / MEGABYTE
    return megabytes / whole, records / whole, megabytes / fetching, records / fetching


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _settings(given: Given) -> dict[str, Any]:
    config = one_of(given, "command-config", "consumer.config")
    settings: dict[str, Any] = load_properties(given.value(config))
    settings |= key_values(given.values("command-property"))
    settings |= {
        "bootstrap.servers": given.value("bootstrap-server"),
        "group.id": given.value("group"),
        "receive.buffer.bytes": given.value("socket-buffer-size"),
        "max.partition.fetch.bytes": given.value("fetch-size"),
        "auto.offset.reset": "latest" if given.has("from-latest") else "earliest",
        "check.crcs": "false",
    }
    settings.setdefault("client.id", "perf-consumer-client")
    settings.pop("key.deserializer", None)
    settings.pop("value.deserializer", None)
    return settings


def _parser() -> Parser:
    options = Parser("This tool is used to verify the consumer performance.")
    takes = options.takes
    takes("bootstrap-server", what="server to connect to", text="REQUIRED: The server(s) to connect to.",
          old_names=("broker-list",))  # fmt: skip
    takes("topic", what="topic", text="The topic to consume from.")
    takes("include", what="Java regex (String)", text="Regular expression of the topics to consume from.")
    takes("group", what="gid", default=f"perf-consumer-{random.randrange(100_000)}",
          text="The group id to consume on.")  # fmt: skip
    takes("fetch-size", what="size", kind="Integer", default=1_048_576,
          text="The maximum amount of data to fetch from a single partition per request.")  # fmt: skip
    takes("socket-buffer-size", what="size", kind="Integer", default=2_097_152,
          text="The size of the tcp RECV size.")  # fmt: skip
    takes("command-property", what="prop1=val1", text="Settings of the consumer, as name=value.")
    takes("command-config", what="config file", text="Config properties file.")
    takes("consumer.config", what="config file", text="(DEPRECATED) Use --command-config instead.")
    takes("num-records", what="count", kind="Long", text="REQUIRED: The number of records to consume.")
    takes("messages", what="count", kind="Long", text="(DEPRECATED) Use --num-records instead.")
    takes("timeout", what="milliseconds", kind="Long", default=10_000, bare="10000",
          text="The maximum allowed time in milliseconds between returned records.")  # fmt: skip
    takes("reporting-interval", what="interval_ms", kind="Long", default=5_000,
          text="Interval in milliseconds at which to print progress info.")  # fmt: skip
    takes("date-format", what="date format", default="yyyy-MM-dd HH:mm:ss:SSS",
          text="The format of times, as java.text.SimpleDateFormat reads it.")  # fmt: skip
    options.flag("from-latest", text="Start with the latest record if the group has no offset yet.")
    options.flag("print-metrics", text="Print out the metrics.")
    options.flag("show-detailed-stats", text="Print a line for each reporting interval.")
    options.flag("hide-header", text="If set, skips printing the header for the stats.")
    return options


main = script(consumer_perf_test)
