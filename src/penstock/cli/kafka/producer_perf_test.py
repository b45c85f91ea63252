"""`kafka-producer-perf-test`: send records as fast as they go or at a rate, and print how it went."""

from __future__ import annotations

import argparse
import random
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from penstock.cli.kafka.arguments import ArgumentParser
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.perf_figures import SendFigures, print_metrics
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script

PAYLOADS: Final = 1000
"""So many random payloads of `--record-size` are made before the clock starts, and sent in turn."""

TRANSACTION_MS: Final = 3000


def producer_perf_test(words: Sequence[str]) -> int:
    parser = _parser()
    if not words:
        parser.print_help()
        return 0
    given = parser.parse_args(words)
    _check(parser, given)
    if given.producer_props:
        _deprecated("producer-props", "command-property")
    if given.producer_config:
        _deprecated("producer.config", "command-config")
    settings = _settings(given)
    payloads = _payloads(given)
    if given.warmup_records:
        print(
            f"Warmup first {given.warmup_records} records. Steady state results will print after the "
            "complete test summary."
        )
    from penstock.client import Producer
    from penstock.client.api.exceptions import KafkaException
    from penstock.client.api.serializers import BytesSerializer

    try:
        with Producer(settings, BytesSerializer(), BytesSerializer()) as producer:
            figures = _send_all(producer, given, payloads, "transactional.id" in settings)
            metrics = producer.metrics() if given.print_metrics else {}
    except KafkaException as error:
        raise CommandFailed(str(error)) from error
    figures.print_total()
    print_metrics(metrics)
    return 0


def _deprecated(old: str, new: str) -> None:
    print(f"Option --{old} has been deprecated and will be removed in a future version. Use --{new} instead.")


def _send_all(
    producer: Any, given: argparse.Namespace, payloads: Iterator[bytes], transactional: bool
) -> SendFigures:
    figures = SendFigures(given.reporting_interval / 1000, given.warmup_records)
    if transactional:
        producer.init_transactions()
    begun = 0.0
    started = time.monotonic()
    for number in range(given.num_records):
        payload = next(payloads)
        now = time.monotonic()
        if transactional and not begun:
            producer.begin_transaction()
            begun = now
        producer.send(given.topic, payload, callback=_counted(figures, now, len(payload)))
        if begun and (now - begun) * 1000 >= given.transaction_duration_ms:
            producer.commit_transaction()
            begun = 0.0
        if given.throughput > 0:
            _wait_until(started + (number + 1) / given.throughput)
    if begun:
        producer.commit_transaction()
    producer.flush()
    return figures


def _counted(figures: SendFigures, sent: float, size: int) -> Any:
    def done(metadata: Any, error: Any) -> None:
        if error is None:
            figures.count(time.monotonic() - sent, size)
        else:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)

    return done


def _wait_until(moment: float) -> None:
    left = moment - time.monotonic()
    if left > 0.001:
        time.sleep(left)


def _payloads(given: argparse.Namespace) -> Iterator[bytes]:
    """Endless; the same sequence in every run, as Kafka's."""
    chance = random.Random(0)
    if given.payload_monotonic:
        return (str(number).encode() for number in range(sys.maxsize))
    if given.payload_file:
        choices = _payloads_of_file(given.payload_file, given.payload_delimiter)
    else:
        letters = range(65, 91)
        count = min(PAYLOADS, given.num_records)
        choices = [bytes(chance.choices(letters, k=given.record_size)) for _ in range(count)]
    return iter(lambda: chance.choice(choices), None)


def _payloads_of_file(name: str, delimiter: str) -> list[bytes]:
    path = Path(name)
    print(f"Reading payloads from: {path.absolute()}")
    if not path.is_file() or not path.stat().st_size:
        raise CommandFailed("File does not exist or empty file provided.")
    text = path.read_text(encoding="utf-8")
    found = text.split("\n" if delimiter == "\\n" else delimiter)
    while found and not found[-1]:
        found.pop()
    print(f"Number of records read: {len(found)}")
    return [payload.encode() for payload in found]


def _check(parser: ArgumentParser, given: argparse.Namespace) -> None:
    if given.num_records <= 0:
        parser.error("--num-records should be greater than zero.")
    if given.record_size is not None and given.record_size <= 0:
        parser.error("--record-size should be greater than zero.")
    if given.warmup_records < 0:
        parser.error("--warmup-records should be greater than or equal to zero.")
    if given.warmup_records >= given.num_records:
        parser.error("The value for --warmup-records must be strictly fewer than the number of records.")
    if given.transaction_duration_ms is not None and given.transaction_duration_ms <= 0:
        parser.error("--transaction-duration-ms should be greater than zero.")
    if given.reporting_interval <= 0:
        parser.error("--reporting-interval should be greater than zero.")
    pairs = [*(given.command_property or ()), *(given.producer_props or ())]
    if not (pairs or given.command_config or given.producer_config or given.bootstrap_server):
        parser.error("At least one of --bootstrap-server, --command-property, --command-config is required.")


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    settings: dict[str, Any] = load_properties(given.command_config or given.producer_config)
    for pair in [*(given.command_property or ()), *(given.producer_props or ())]:
        name, equals, value = pair.partition("=")
        if not equals:
            raise CommandFailed(f"Invalid property: {pair}")
        settings[name] = value
    if given.bootstrap_server:
        settings["bootstrap.servers"] = given.bootstrap_server
    settings.setdefault("client.id", "perf-producer-client")
    settings.pop("key.serializer", None)
    settings.pop("value.serializer", None)
    if given.transactional_id:
        settings["transactional.id"] = given.transactional_id
    elif given.transaction_duration_ms is not None:
        settings.setdefault("transactional.id", f"performance-producer-{uuid.uuid4()}")
    if given.transaction_duration_ms is None:
        given.transaction_duration_ms = TRANSACTION_MS
    return settings


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="kafka-producer-perf-test",
        description="This tool is used to verify the producer performance. A transactional id or "
        "--transaction-duration-ms makes it send in transactions.",
    )
    parser.add_argument("--bootstrap-server", help="The server(s) to connect to.")
    parser.add_argument("--topic", required=True, help="Produce records to this topic.")
    parser.add_argument("--num-records", type=int, required=True, help="Number of records to produce.")
    payload = parser.add_mutually_exclusive_group(required=True)
    payload.add_argument("--record-size", type=int, help="Record size in bytes.")
    payload.add_argument("--payload-file", help="A text file; each record is one of its parts, by chance.")
    payload.add_argument("--payload-monotonic", action="store_true", help="Payloads are growing numbers.")
    parser.add_argument("--payload-delimiter", default="\\n", help="Between the parts of --payload-file.")
    parser.add_argument(
        "--throughput", type=float, required=True, help="Records a second, about; -1 for as many as go."
    )
    parser.add_argument("--command-property", nargs="+", metavar="NAME=VALUE", help="Producer settings.")
    parser.add_argument("--producer-props", nargs="+", metavar="NAME=VALUE", help="(DEPRECATED) As above.")
    parser.add_argument("--command-config", metavar="FILE", help="Producer config properties file.")
    parser.add_argument("--producer.config", dest="producer_config", metavar="FILE", help="(DEPRECATED)")
    parser.add_argument("--print-metrics", action="store_true", help="Print out metrics at the end.")
    parser.add_argument("--transactional-id", help="The transactional id to use.")
    parser.add_argument("--transaction-duration-ms", type=int, help="How long each transaction lasts.")
    parser.add_argument("--warmup-records", type=int, default=0, help="Left out of the steady figures.")
    parser.add_argument("--reporting-interval", type=int, default=5000, help="Milliseconds between lines.")
    return parser


main = script(producer_perf_test)
