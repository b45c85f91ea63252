"""`penstock sql shell` and `ksql`: the command, its options and its exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

DEFAULT_URL = "http://127.0.0.1:8088"
OWN_SETTINGS = ("ssl.", "sasl.", "security.", "basic.auth.", "bearer.auth.", "bootstrap.servers")
"""How the shell comes to the server, which has no use for them: passwords among them do not leave."""


@click.command()
@click.argument("url", default=DEFAULT_URL)
@click.option("-e", "--execute", "statements", multiple=True, help="Statements to execute. May be repeated.")
@click.option("-f", "--file", "files", multiple=True, type=click.Path(exists=True, dir_okay=False),
              help="A file of statements to execute. May be repeated.")  # fmt: skip
@click.option("-d", "--define", "variables", multiple=True, metavar="NAME=VALUE", help="A variable.")
@click.option("--output", type=click.Choice(["TABULAR", "JSON"], case_sensitive=False), default="TABULAR",
              show_default=True, help="How answers are printed.")  # fmt: skip
@click.option("--wide", is_flag=True, help="Rows as one line a column.")
@click.option("-u", "--user", help="A name for a server that asks for one.")
@click.option("-p", "--password", help="Its password. Without it the shell asks.")
@click.option("--config-file", type=click.Path(exists=True, dir_okay=False),
              help="Settings: ssl.* of the connection, others for every query.")  # fmt: skip
def shell(
    url: str,
    statements: tuple[str, ...],
    files: tuple[str, ...],
    variables: tuple[str, ...],
    output: str,
    wide: bool,
    user: str | None,
    password: str | None,
    config_file: str | None,
) -> None:
    """A shell for the SQL server at URL.

    With -e or -f it executes what is given and ends: 0 when all went well, 1 at the first failure. Without,
    it reads standard input, line by line with history where that is a terminal.
    """
    from penstock.cli.ksql.access import server_at
    from penstock.cli.ksql.session import Session
    from penstock.settings.sources import read_properties

    settings = read_properties(config_file) if config_file else {}
    server = server_at(url, user, password, settings)
    session = Session(server, as_json=output.upper() == "JSON", wide=wide)
    session.properties.update(
        {name: text for name, text in settings.items() if not name.startswith(OWN_SETTINGS)}
    )
    for each in variables:
        name, _, value = each.partition("=")
        session.variables[name] = value
    for text in files:
        session.run_file(Path(text))
    for text in statements:
        session.run(text)
    if files or statements:
        return
    if not sys.stdin.isatty():
        session.run(sys.stdin.read())
        return
    from penstock.cli.ksql.loop import interact

    interact(session)


def main() -> NoReturn:
    """What `ksql` calls."""
    shell.main(prog_name="ksql")
    sys.exit(0)
