"""The entry point: finds the command, runs it, and turns what went wrong into one sentence and an exit code.

0 is success, 1 a failure (no broker, no such topic), 2 a mistake in the command or in a setting, 130 Ctrl-C.
A traceback means a bug of Penstock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from penstock.cli.lazy import LazyGroup
from penstock.client.errors import ClientError
from penstock.settings.errors import SettingError

NAME: Final = "penstock"
FAILURE: Final = 1
MISTAKE: Final = 2
INTERRUPTED: Final = 130

COMMANDS: Final = {
    "acl": ("penstock.cli.acl:acl", "Grant, revoke, list and check rights."),
    "broker": ("penstock.cli.broker:broker", "Run one broker in the foreground."),
    "cluster": ("penstock.cli.cluster:cluster", "Show the brokers of a cluster and how its partitions are."),
    "completion": ("penstock.cli.completion:completion", "Print what lets your shell complete commands."),
    "config": ("penstock.cli.config:config", "Show, set and unset settings of topics and brokers."),
    "connect": ("penstock.cli.connect:connect", "Run a worker of Connect."),
    "connector": ("penstock.cli.connector:connector", "Create, check, watch, restart and delete connectors."),
    "console": ("penstock.cli.console:console", "Run the web console."),
    "consume": ("penstock.cli.consume:consume", "Print the records of a topic."),
    "doctor": ("penstock.cli.doctor:doctor", "Find what is wrong here, and say what to do."),
    "example": ("penstock.cli.example:example", "List examples, show one, or run it."),
    "exporter": ("penstock.cli.exporter:exporter", "Serve the lag of consumer groups to Prometheus."),
    "group": ("penstock.cli.group:group", "List, describe, move and delete consumer groups."),
    "log": ("penstock.cli.log:log", "Print what stands in the files of a partition."),
    "perf": ("penstock.cli.perf:perf", "Measure throughput and latency."),
    "profile": ("penstock.cli.profile:profile", "Name clusters, and choose the one that commands go to."),
    "migrate": ("penstock.cli.migrate:migrate", "Move an existing cluster to another one."),
    "mirror": ("penstock.cli.mirror:mirror", "Mirror topics, groups and ACLs between clusters."),
    "produce": ("penstock.cli.produce:produce", "Write lines of standard input to a topic."),
    "quota": ("penstock.cli.quota:quota", "List, set and unset quotas."),
    "rest": ("penstock.cli.rest:rest", "Run the REST Proxy."),
    "registry": ("penstock.cli.registry:registry", "Run the Schema Registry."),
    "schema": ("penstock.cli.schema:schema", "List, read, register, check and delete schemas."),
    "sql": ("penstock.cli.sql:sql", "Run the SQL server, its shell, or tests of statements."),
    "streams": (
        "penstock.cli.streams:streams",
        "Describe an application of Streams, and reset it to begin anew.",
    ),
    "token": ("penstock.cli.token:token", "Create, list, renew and expire delegation tokens."),
    "topic": ("penstock.cli.topic:topic", "List, create, describe, delete and grow topics."),
    "transaction": (
        "penstock.cli.transaction:transaction",
        "List, describe, find hanging and abort transactions.",
    ),
    "up": ("penstock.cli.up:up", "Run the whole platform: broker, REST Proxy, console and your scripts."),
    "user": ("penstock.cli.user:user", "Create, list and delete users, and change their passwords."),
    "version": ("penstock.cli.version:version", "Print the version."),
}

root = LazyGroup(
    name=NAME,
    lazy=COMMANDS,
    help="Penstock: an event-streaming platform that speaks Kafka's protocol, with pipelines on Spark.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """What `penstock` and `python -m penstock` call."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code; expected failures have become sentences on stderr."""
    try:
        code = _invoke(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        error.show()
        return MISTAKE
    except click.ClickException as error:
        return _say(error.format_message(), FAILURE)
    except SettingError as error:
        return _say(error.explain(), MISTAKE)
    except ClientError as error:
        return _say(str(error), FAILURE)
    except BrokenPipeError:
        return _reader_went_away()
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _invoke(arguments: list[str]) -> object:
    """The command itself. click's own `main`, which would end the process when a reader goes away, is for
    completing words only.
    """
    if f"_{NAME.upper()}_COMPLETE" in os.environ:
        return root.main(arguments, prog_name=NAME)
    with root.make_context(NAME, arguments) as context:
        return root.invoke(context)


def _say(sentence: str, code: int) -> int:
    click.echo(f"penstock: {sentence}", err=True)
    return code


def _reader_went_away() -> int:
    """`penstock consume … | head` is no failure. What is still buffered goes nowhere, without a complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
