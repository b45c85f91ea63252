"""`kafka-server-start server.properties`: runs one node in the foreground, as `penstock broker` does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import script

USAGE: Final = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*"


def server_start(words: Sequence[str]) -> int:
    if not words or words[0] in ("--help", "-h"):
        raise CommandFailed(USAGE)
    if words[0] == "-daemon":
        return _in_background(words[1:])
    from penstock.cli.main import run

    return run(["broker", "--config", words[0], *_overrides(words[1:])])


def _in_background(words: Sequence[str]) -> int:
    """Starts the node as a process of its own session; its output goes to `kafkaServer.out` in `LOG_DIR`."""
    if not words:
        raise CommandFailed(USAGE)
    log = Path(os.environ.get("LOG_DIR", "logs")) / "kafkaServer.out"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "penstock", "broker", "--config", words[0], *_overrides(words[1:])]
    with open(log, "ab") as out:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    return 0


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
