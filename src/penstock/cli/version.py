"""`penstock version`."""

from __future__ import annotations

import platform

import click

from penstock import __version__
from penstock.cli.output import print_json


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def version(as_json: bool) -> None:
    """Print the version."""
    if as_json:
        print_json({"version": __version__, "python": platform.python_version()})
    else:
        click.echo(f"penstock {__version__}")
