"""`penstock log dump`: what stands in the files of a partition."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli.kafka.options import CommandFailed
from penstock.client.errors import ClientError


@click.group()
def log() -> None:
    """Look into the files of a broker."""


@log.command()
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(exists=True, path_type=Path)
)
@click.option("--records", is_flag=True, help="Keys, values and headers of the records as well.")
@click.option("--max-bytes", type=click.IntRange(min=1), help="Stop after so many bytes of each log.")
def dump(paths: tuple[Path, ...], records: bool, max_bytes: int | None) -> None:
    """Print the batches of logs, and the entries of indexes and snapshots, as kafka-dump-log does.

    PATH is a file, or the folder of a partition: all logs in it. The broker may run meanwhile.
    """
    from penstock.cli.kafka.dump_log import dump_log

    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.glob("*.log")))]
    if not files:
        raise ClientError(
            f"There is no .log file in {', '.join(map(str, paths))}. Name the folder of a partition."
        )
    words = ["--files", ",".join(map(str, files))]
    words += ["--print-data-log"] if records else []
    words += ["--max-bytes", str(max_bytes)] if max_bytes else []
    try:
        dump_log(words)
    except CommandFailed as error:
        raise ClientError(str(error)) from error
