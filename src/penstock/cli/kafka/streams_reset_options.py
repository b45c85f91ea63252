"""The options of `kafka-streams-application-reset`, and which of them go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.cli.kafka.options import Given, Parser

POSITIONS: Final = (
    "to-offset",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "from-file",
    "shift-by",
)
"""Where the input topics are read from again; at most one of them may be given."""
_ABOUT: Final = (
    "This tool helps to quickly reset an application in order to reprocess its data from scratch.\n"
    "* It resets the offsets of input topics to the earliest offset, or to a position that you name.\n"
    '* It deletes the internal topics of the application: those that begin with "<application.id>-".\n'
    "* It deletes no output topics and no local state.\n"
    '*** Warning! What it does cannot be undone. Run it with "--dry-run" first.\n'
)


def parsed(words: Sequence[str]) -> Given:
    """What the line gave, or the error that Kafka has for what does not go together."""
    given = _parser().parse_or_help(words)
    for position in POSITIONS:
        given.forbid(position, *(other for other in POSITIONS if other != position))
    return given


def topics_in(given: Given, option: str) -> list[str]:
    return [name for text in given.values(option) for name in text.split(",")]


def _parser() -> Parser:
    options = Parser(_ABOUT, empty="Missing required option(s) [application-id]")
    options.takes(
        "application-id",
        what="id",
        required=True,
        text="The Kafka Streams application ID (application.id).",
    )
    options.takes(
        "bootstrap-server",
        what="server to connect to",
        text="The server(s) to connect to. The broker list string in the form HOST1:PORT1,HOST2:PORT2. "
        "(default: localhost:9092)",
        old_names=("bootstrap-servers",),
    )
    options.takes(
        "input-topics",
        what="list",
        text="Comma-separated list of user input topics. Their offsets are reset to the earliest offset "
        "unless another position is given.",
    )
    options.takes(
        "intermediate-topics",
        what="list",
        text="[deprecated] Comma-separated list of intermediate user topics. The tool skips to their end.",
    )
    options.takes(
        "internal-topics",
        what="list",
        text="Comma-separated list of internal topics to delete, a subset of those that a dry run lists.",
    )
    _add_positions(options)
    options.takes("config-file", what="file name", text="Property file with settings of the client.")
    options.flag(
        "force", text="Remove the members of the group first. Shut down the application before you do."
    )
    options.flag("dry-run", text="Display the actions that would be performed without executing them.")
    return options


def _add_positions(options: Parser) -> None:
    options.takes("to-offset", kind="Long", text="Reset offsets to a specific offset.")
    options.takes(
        "to-datetime", text="Reset offsets to offset from datetime. Format: 'YYYY-MM-DDTHH:mm:SS.sss'"
    )
    options.takes(
        "by-duration",
        text="Reset offsets to offset by duration from current timestamp. Format: 'PnDTnHnMnS'",
    )
    options.flag("to-earliest", text="Reset offsets to earliest offset.")
    options.flag("to-latest", text="Reset offsets to latest offset.")
    options.takes("from-file", text="Reset offsets to values defined in CSV file.")
    options.takes(
        "shift-by",
        what="number-of-offsets",
        kind="Long",
        text="Reset offsets shifting current offset by 'n', where 'n' can be positive or negative",
    )
