"""`connect-distributed worker.properties` and `connect-standalone worker.properties connector.properties …`:
workers of Connect in the foreground, with Kafka's files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import script

DISTRIBUTED: Final = "Usage: connect-distributed worker.properties"
STANDALONE: Final = "Usage: connect-standalone worker.properties [connector1.properties connector2.json ...]"


def connect_distributed(words: Sequence[str]) -> int:
    return _run(words, DISTRIBUTED, distributed=True)


def connect_standalone(words: Sequence[str]) -> int:
    return _run(words, STANDALONE, distributed=False)


def _run(words: Sequence[str], usage: str, *, distributed: bool) -> int:
    if words and words[0] == "-daemon":
        raise CommandFailed(
            "-daemon is not supported: start it in the background with a service manager or &"
        )
    if not words or words[0].startswith("-") or (distributed and len(words) > 1):
        raise CommandFailed(usage)
    import click

    from penstock.cli.connect import start
    from penstock.cli.logs import log_to_stderr
    from penstock.settings.errors import SettingError
    from penstock.settings.sources import read_properties

    log_to_stderr("info")
    try:
        start(read_properties(words[0]), tuple(words[1:]), distributed=distributed)
    except SettingError as error:
        raise CommandFailed(error.explain()) from error
    except click.ClickException as error:
        raise CommandFailed(error.format_message()) from error
    return 0


distributed_main = script(connect_distributed)
standalone_main = script(connect_standalone)
