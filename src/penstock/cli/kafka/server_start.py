"""`kafka-server-start server.properties`: runs one node in the foreground, as `penstock broker` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import script

USAGE: Final = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*"


def server_start(words: Sequence[str]) -> int:
    if not words or words[0] in ("--help", "-h"):
        raise CommandFailed(USAGE)
    if words[0] == "-daemon":
        raise CommandFailed(
            "-daemon is not supported: start it in the background with a service manager or &"
        )
    from penstock.cli.main import run

    return run(["broker", "--config", words[0], *_overrides(words[1:])])


def _overrides(words: Sequence[str]) -> list[str]:
    """`--override name=value` as the options of `penstock broker`."""
    found: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if name != "--override" or (not equals and not left):
            raise CommandFailed(f"Found non argument parameters: {word}")
        found += ["--set", value if equals else left.pop(0)]
    return found


main = script(server_start)
