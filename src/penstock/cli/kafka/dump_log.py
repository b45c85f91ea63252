"""`kafka-dump-log`, once `kafka-run-class kafka.tools.DumpLogSegments`: files of a log in readable form."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.cli.kafka.log_decoders import Decoder, decoder
from penstock.cli.kafka.log_lines import (
    Dump,
    aborted_lines,
    index_lines,
    log_lines,
    snapshot_lines,
    time_index_lines,
)
from penstock.cli.kafka.options import CommandFailed, Given, Parser
from penstock.cli.kafka.starting import script

LARGEST_INT: Final = 2_147_483_647
DECODERS: Final = ("offsets-decoder", "transaction-log-decoder")
MISSING: Final = ("cluster-metadata-decoder", "remote-log-metadata-decoder", "share-group-state-decoder")


def dump_log(words: Sequence[str]) -> int:
    given = _parser().parse(words)
    given.require("files")
    for name in MISSING:
        if given.has(name):
            raise CommandFailed(f"--{name} is not supported yet")
    dump = Dump()
    chosen = _decoder(given)
    for name in given.value("files").split(","):
        path = Path(name)
        print(f"Dumping {path}")
        try:
            _dump(path, given, chosen, dump)
        except FileNotFoundError as error:
            raise CommandFailed(f"java.nio.file.NoSuchFileException: {error.filename}") from None
        except OSError as error:
            raise CommandFailed(f"{path}: {error}") from None
    _complain(dump)
    return 0


def _dump(path: Path, given: Given, chosen: Decoder | None, dump: Dump) -> None:
    if path.suffix == ".log":
        deep = given.has("deep-iteration") or chosen is not None
        bare = given.has("skip-record-metadata")
        lines = log_lines(path, dump, deep=deep, bare=bare, chosen=chosen, max_bytes=given.value("max-bytes"))
    elif path.suffix == ".index":
        lines = index_lines(path, dump, sanity_only=given.has("index-sanity-check"))
    elif path.suffix == ".timeindex":
        lines = time_index_lines(path, dump, sanity_only=given.has("index-sanity-check"))
    elif path.suffix == ".snapshot":
        lines = snapshot_lines(path)
    elif path.suffix == ".txnindex":
        lines = aborted_lines(path)
    else:
        print(f"Ignoring unknown file {path}", file=sys.stderr)
        return
    quiet = given.has("verify-index-only") and path.suffix in (".index", ".timeindex")
    for line in lines:
        if not quiet:
            print(line)


def _complain(dump: Dump) -> None:
    for path, pairs in dump.mismatches.items():
        print(f"Mismatches in :{path}", file=sys.stderr)
        for indexed, found in pairs:
            print(f"  Index offset: {indexed}, log offset: {found}", file=sys.stderr)
    for path, pairs in dump.out_of_order.items():
        print(f"Found out of order timestamp in :{path}", file=sys.stderr)
        for time_ms, before in pairs:
            print(f"  Index timestamp: {time_ms}, Previously indexed timestamp: {before}", file=sys.stderr)
    for path, pairs in dump.gaps.items():
        print(f"Non-consecutive offsets in {path}", file=sys.stderr)
        for first, second in pairs:
            print(f"  {first} is followed by {second}", file=sys.stderr)


def _decoder(given: Given) -> Decoder | None:
    """How keys and values are shown; None when they are not."""
    for name in DECODERS:
        if given.has(name):
            return decoder(name)
    if not any(given.has(name) for name in ("print-data-log", "value-decoder-class", "key-decoder-class")):
        return None
    return decoder("", given.value("key-decoder-class"), given.value("value-decoder-class"))


def _parser() -> Parser:
    options = Parser(
        "This tool helps to parse a log file and dump its contents to the console, useful for debugging a "
        "seemingly corrupt log segment."
    )
    options.flag(
        "print-data-log",
        text="If set, printing the messages content when dumping data logs. Automatically set if any decoder "
        "option is specified.",
    )
    options.flag("verify-index-only", text="If set, just verify the index log without printing its content.")
    options.flag(
        "index-sanity-check", text="If set, just checks the index sanity without printing its content."
    )
    options.takes(
        "files",
        what="file1, file2, ...",
        text="REQUIRED: The comma separated list of data and index log files to be dumped.",
    )
    options.takes(
        "max-message-size", what="size", kind="Integer", default=5_242_880, text="Size of largest message."
    )
    options.takes(
        "max-bytes",
        what="size",
        kind="Integer",
        default=LARGEST_INT,
        text="Limit the amount of total batches read in bytes avoiding reading the whole .log file(s).",
    )
    options.flag(
        "deep-iteration",
        text="If set, uses deep instead of shallow iteration. Automatically set if print-data-log is "
        "enabled.",
    )
    string = "org.apache.kafka.tools.api.StringDecoder"
    for side in ("value", "key"):
        options.takes(
            f"{side}-decoder-class", default=string, bare=string, text=f"The decoder of a message's {side}."
        )
    options.flag(
        "offsets-decoder",
        text="If set, log data will be parsed as offset data from the __consumer_offsets topic.",
    )
    options.flag(
        "transaction-log-decoder",
        text="If set, log data will be parsed as transaction metadata from the __transaction_state topic.",
    )
    for name in MISSING:
        options.flag(name, text="Not supported yet.")
    options.flag("skip-record-metadata", text="Whether to skip printing metadata for each record.")
    return options


main = script(dump_log)
