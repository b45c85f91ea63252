"""From the function of a command to a process: what went wrong becomes Kafka's text and Kafka's exit code.

0 is success and 1 every failure, as with Kafka's commands. A traceback means a bug of Penstock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from penstock.cli.kafka.options import CommandFailed, UsageError, VersionWanted

Body = Callable[[Sequence[str]], int | None]
"""A command: takes the words after its name, prints, and returns its exit code; None is success."""

FAILURE: Final = 1
INTERRUPTED: Final = 130
KAFKA_VERSION: Final = "4.2.0"
"""The Kafka whose commands these are; `--version` shows it, as scripts expect a version of Kafka there."""


def script(body: Body) -> Callable[[], NoReturn]:
    """The function that an entry point calls."""

    def main() -> NoReturn:
        # kio registers its types with hypothesis where that is installed: longer work than the command.
        sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]
        sys.exit(run(body, sys.argv[1:]))

    return main


def run(body: Body, arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    try:
        code = body(without_zookeeper(arguments))
        sys.stdout.flush()
    except VersionWanted:
        print(KAFKA_VERSION)
        return 0
    except UsageError as error:
        return _say(f"{error}\n{error.help_text}", FAILURE)
    except CommandFailed as error:
        return _say(str(error), FAILURE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return code or 0


def without_zookeeper(words: Sequence[str]) -> list[str]:
    """`--zookeeper HOST:PORT` of older tutorials as the address of a broker, with a warning. Nobody listens
    at ZooKeeper's address here, so the broker is the one that commands without an address go to."""
    kept: list[str] = []
    given = False
    left = list(words)
    while left:
        word = left.pop(0)
        if word.partition("=")[0] != "--zookeeper":
            kept.append(word)
            continue
        given = True
        if "=" not in word and left:
            left.pop(0)
    if not given:
        return list(words)
    if any(word.partition("=")[0] in ("--bootstrap-server", "--broker-list") for word in kept):
        print("WARNING: --zookeeper is gone since Kafka 4; it is ignored.", file=sys.stderr)
        return kept
    from penstock.cli.profiles import bootstrap_servers

    servers = bootstrap_servers()
    print(
        f"WARNING: --zookeeper is gone since Kafka 4; asking the broker at {servers} instead. Write "
        f"--bootstrap-server {servers}.",
        file=sys.stderr,
    )
    return ["--bootstrap-server", servers, *kept]


def _say(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code
