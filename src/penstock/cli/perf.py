"""`penstock perf produce|consume|latency`: Kafka's performance tests with short options."""

from __future__ import annotations

from collections.abc import Sequence

import click

from penstock.cli.access import Access
from penstock.cli.kafka.options import CommandFailed, UsageError
from penstock.cli.kafka.starting import Body
from penstock.cli.options import client_options
from penstock.client.errors import ClientError


@click.group()
def perf() -> None:
    """Measure how fast a cluster takes, gives and passes on records."""


@perf.command()
@click.argument("topic")
@click.option("--records", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option("--size", type=click.IntRange(min=1), default=100, show_default=True, metavar="BYTES")
@click.option("--rate", type=int, default=-1, show_default=True, help="Records a second; -1 is no bound.")
@click.option("--acks", type=click.Choice(["0", "1", "all"]), default="all", show_default=True)
@click.option("--compression", type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]), default="none")
@client_options
def produce(
    topic: str, records: int, size: int, rate: int, acks: str, compression: str, access: Access, as_json: bool
) -> None:
    """Write records to TOPIC and print rates and latencies."""
    from penstock.cli.kafka.producer_perf_test import producer_perf_test

    access.admin()
    words = ["--topic", topic, "--num-records", str(records), "--record-size", str(size)]
    words += ["--throughput", str(rate), "--producer-props", f"bootstrap.servers={access.bootstrap_servers}"]
    words += [f"acks={acks}", f"compression.type={compression}", *_properties(access)]
    _run(producer_perf_test, words)


@perf.command()
@click.argument("topic")
@click.option("--records", type=click.IntRange(min=1), default=100_000, show_default=True)
@client_options
def consume(topic: str, records: int, access: Access, as_json: bool) -> None:
    """Read records of TOPIC from its beginning and print the rate."""
    from penstock.cli.kafka.consumer_perf_test import consumer_perf_test

    access.admin().topic(topic)
    words = ["--bootstrap-server", access.bootstrap_servers, "--topic", topic, "--messages", str(records)]
    _run(consumer_perf_test, words)


@perf.command()
@click.argument("topic")
@click.option("--records", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--size", type=click.IntRange(min=1), default=100, show_default=True, metavar="BYTES")
@client_options
def latency(topic: str, records: int, size: int, access: Access, as_json: bool) -> None:
    """Send records one by one and print how long each takes to arrive at a consumer."""
    from penstock.cli.kafka.e2e_latency import e2e_latency

    access.admin()
    words = ["--bootstrap-server", access.bootstrap_servers, "--topic", topic, "--num-records", str(records)]
    _run(e2e_latency, [*words, "--producer-acks", "all", "--record-size", str(size)])


def _properties(access: Access) -> list[str]:
    return [f"{name}={value}" for name, value in access.settings.items()]


def _run(body: Body, words: Sequence[str]) -> None:
    try:
        body(words)
    except (CommandFailed, UsageError) as error:
        raise ClientError(str(error)) from error
