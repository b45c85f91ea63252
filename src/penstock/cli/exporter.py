"""`penstock exporter`: lag of consumer groups for Prometheus, of any cluster."""

from __future__ import annotations

import signal
import threading

import click

from penstock.cli.access import Access
from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import address, client_options
from penstock.settings.listeners import format_address


@click.command()
@click.option(
    "--listen", callback=address, default="127.0.0.1:9308", show_default=True, metavar="HOST:PORT",
    help="Address of /metrics; port 0 picks a free one.",
)  # fmt: skip
@log_level_option
@client_options
def exporter(listen: tuple[str, int], log_level: str, access: Access, as_json: bool) -> None:
    """Serve /metrics with the lag of every consumer group in records and seconds, until Ctrl-C.

    Names are those of kafka_exporter. Each scrape asks the cluster.
    """
    from penstock.client.lag_metrics import lag_samples
    from penstock.server.metrics.endpoint import MetricsEndpoint

    log_to_stderr(log_level)
    admin = access.admin()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    endpoint = MetricsEndpoint(*listen, lambda: lag_samples(admin))
    endpoint.start()
    click.echo(f"ready {format_address(*endpoint.address)}")
    stop.wait()
    endpoint.close()
