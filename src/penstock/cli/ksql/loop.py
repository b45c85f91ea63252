"""The interactive shell: lines become statements, with history and completion; Ctrl-C ends a query."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import click

from penstock.cli.ksql.completing import Completion
from penstock.cli.ksql.progress import waiting
from penstock.cli.ksql.session import WIDE, Session
from penstock.sql.errors import SqlError
from penstock.sql.lexer import split

PROMPT: Final = "ksql> "
MORE: Final = ">"
HISTORY: Final = Path.home() / ".ksql-history"
HISTORY_LINES: Final = 5000
_COMMAND: Final = re.compile(
    r"\s*(exit|quit|help|version|clear|history|output|wide|live|spool|server)\b(.*)",
    re.IGNORECASE | re.DOTALL,
)
HELP: Final = """Statements end with a semicolon and may have several lines. Besides there are:
  exit, quit          leave the shell (Ctrl-D does, too)
  help                this text
  version             what the server is
  output [JSON|TABULAR]
  wide [ON|OFF]       rows as one line a column; \\G in place of ; does so once
  live [ON|OFF]       whether queries with GROUP BY change their rows in place
  spool FILE, spool off
  history             what was typed before
  RUN SCRIPT 'FILE';  the statements of a file
Ctrl-C ends a query that pushes rows."""


def interact(session: Session) -> None:
    """Until exit or the end of the input."""
    session.live = sys.stdout.isatty()
    with _history(Completion(session.server)):
        info = session.server.info()
        click.echo(f"SQL shell, server {info.get('version')} at {session.server.url}. Type help for help.")
        pending = ""
        while True:
            try:
                line = input(MORE if pending else PROMPT)
            except EOFError:
                click.echo()
                return
            except KeyboardInterrupt:
                click.echo()
                pending = ""
                continue
            if not pending and (command := _COMMAND.fullmatch(line.rstrip().rstrip(";"))):
                if not _own(session, command[1].lower(), command[2].strip()):
                    return
                continue
            pending = f"{pending}{line}\n"
            if is_complete(pending):
                session.note(pending.strip())
                _run(session, pending)
                pending = ""


def is_complete(text: str) -> bool:
    """Whether the last statement has its semicolon; an empty line is complete, too."""
    if not text.strip():
        return True
    if text.rstrip().endswith(WIDE):
        return True
    if not text.rstrip().endswith(";"):
        return False
    try:
        split(text)
    except SqlError:
        return "'" not in text  # a string that is not closed goes on
    return True


def _run(session: Session, text: str) -> None:
    try:
        with waiting(session):
            session.run(text)
    except click.ClickException as error:
        session.say(error.format_message())
    except KeyboardInterrupt:
        session.say("Query terminated")


def _own(session: Session, name: str, rest: str) -> bool:
    """A command of the shell; false when it is left."""
    try:
        match name:
            case "exit" | "quit":
                return False
            case "help":
                click.echo(HELP)
            case "version" | "server":
                click.echo(f"{session.server.url}: {session.server.info()}")
            case "clear":
                click.clear()
            case "history":
                _show_history()
            case "output":
                session.as_json = rest.upper() == "JSON" if rest else session.as_json
                click.echo(f"Current output format: {'JSON' if session.as_json else 'TABULAR'}")
            case "wide":
                session.wide = rest.upper() != "OFF"
            case "live":
                session.live = rest.upper() != "OFF"
            case "spool":
                words = shlex.split(rest)
                session.spool(None if not words or words[0].lower() == "off" else words[0])
    except click.ClickException as error:
        click.echo(error.format_message())
    return True


def _readline() -> Any:
    try:
        import readline
    except ImportError:  # not everywhere
        return None
    return readline


@contextlib.contextmanager
def _history(completion: Completion) -> Any:
    readline = _readline()
    if readline is None or not sys.stdin.isatty():
        yield
        return
    with contextlib.suppress(OSError):
        readline.read_history_file(HISTORY)
    readline.set_history_length(HISTORY_LINES)
    readline.set_completer(completion)
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(HISTORY)


def _show_history() -> None:
    readline = _readline()
    for number in range(1, readline.get_current_history_length() + 1) if readline else ():
        click.echo(f"{number:5} {readline.get_history_item(number)}")
