"""Where a command gets a password from: a file, a question at the terminal, or standard input. Never an
option: every user of a machine sees the options of its processes."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Final

import click

from penstock.cli.options import Command

_RANDOM_BYTES: Final = 24


def password_options(command: Command) -> Command:
    for option in (
        click.option("--generate", is_flag=True, help="Make a random password, and print it."),
        click.option(
            "--password-file",
            type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
            metavar="FILE",
            help="Its first line is the password. [default: asked for, or the first line of standard input]",
        ),
    ):
        command = option(command)
    return command


def new_password(password_file: Path | None, *, generate: bool) -> str:
    if generate and password_file is not None:
        raise click.UsageError("Give one of --generate and --password-file.")
    if generate:
        return secrets.token_urlsafe(_RANDOM_BYTES)
    if password_file is not None:
        found = password_file.read_text(encoding="utf-8").split("\n")[0].removesuffix("\r")
    elif sys.stdin.isatty():
        found = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        found = sys.stdin.readline().rstrip("\r\n")
    if not found:
        raise click.UsageError("The password is empty.")
    return found
