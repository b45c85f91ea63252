"""What commands print: a table for a person, tab-separated lines for a pipe, JSON lines for a program."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click


def print_json(value: Any) -> None:
    """One JSON value on a line of its own."""
    click.echo(json.dumps(value, ensure_ascii=False))


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, heads: bool = False
) -> None:
    """On a terminal a table with a heading; elsewhere the rows in full, with tabs between cells, and with the
    names of the columns if `heads`."""
    texts = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [columns, *texts] if heads else texts:
            click.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in texts:
        table.add_row(*row)
    Console().print(table)


def json_bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    """`{name: text}`, or `{name_base64: …}` for what is not UTF-8, so that no byte is lost."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}
