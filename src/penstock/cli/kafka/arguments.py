"""Command lines as argparse4j reads them, which some of Kafka's commands use; and the table they print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from penstock.cli.kafka.asking import Asker
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.properties import load_properties


class ArgumentParser(argparse.ArgumentParser):
    """As argparse4j, which ends with 1 where Python's ends with 2."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise CommandFailed(f"{self.prog.split()[0]}: error: {message}")


def add_connection(parser: argparse.ArgumentParser) -> None:
    """The options that name a cluster, as the commands for operators take them."""
    connection = parser.add_mutually_exclusive_group(required=True)
    connection.add_argument("--bootstrap-server", help="Addresses of brokers, as host:port,host:port.")
    connection.add_argument("--bootstrap-controller", help="Addresses of controllers, as host:port.")
    parser.add_argument("--command-config", help="A property file for the Admin client.")


def asker_of(given: argparse.Namespace) -> Asker:
    """The cluster that the options of `add_connection` name."""
    if given.bootstrap_controller:
        raise CommandFailed(
            "--bootstrap-controller is not supported yet: give a broker with --bootstrap-server"
        )
    return Asker(given.bootstrap_server, load_properties(given.command_config))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their widest value, each followed by a tab."""
    lines = [list(headers), *([str(value) for value in row] for row in rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(headers))]
    for line in lines:
        print("".join(f"{value:<{width}}\t" for value, width in zip(line, widths, strict=True)))
