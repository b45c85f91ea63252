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
        sys.exit(run(body, sys.argv[1:]))

    return main


def run(body: Body, arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    try:
        code = body(arguments)
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


def _say(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code
