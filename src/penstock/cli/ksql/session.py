"""One session of the shell: settings and variables that last, and what becomes of each statement."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import click

from penstock.cli.ksql import live, tables
from penstock.cli.ksql.requests import Refused, Server
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.lexer import RawStatement, split
from penstock.sql.parsing import parse_statement
from penstock.sql.variables import substituted

WIDE: Final = "\\G"
"""At the end of statements: their rows as one line a column."""


class Session:
    def __init__(self, server: Server, *, as_json: bool = False, wide: bool = False) -> None:
        self.server = server
        self.properties: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.as_json, self.wide = as_json, wide
        self.live = False
        """Push queries that group change their rows in place: in a terminal only."""
        self.before_output: Callable[[], None] = lambda: None
        """Called before a line is shown: takes away what says that the shell waits."""
        self._spool: IO[str] | None = None

    def run(self, text: str) -> None:
        """Execute all statements; `Refused` or ClickException ends at the first that fails."""
        if text.rstrip().removesuffix(";").endswith(WIDE):
            self._run_wide(text.rstrip().removesuffix(";").removesuffix(WIDE))
            return
        try:
            statements = split(text)
        except SqlError as error:
            raise Refused(str(error)) from error
        for raw in statements:
            self._execute(raw)

    def _run_wide(self, text: str) -> None:
        before, self.wide = self.wide, True
        try:
            self.run(text)
        finally:
            self.wide = before

    def run_file(self, path: Path) -> None:
        try:
            text = path.read_text()
        except OSError as error:
            raise click.ClickException(f"Cannot read {path}: {error.strerror or error}.") from error
        self.run(text)

    def spool(self, path: str | None) -> None:
        """From now on write everything to a file as well, or to none."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None
        if path is not None:
            try:
                self._spool = Path(path).open("a")  # noqa: SIM115
            except OSError as error:
                raise click.ClickException(f"Cannot write {path}: {error.strerror or error}.") from error

    def say(self, text: str) -> None:
        self.before_output()
        click.echo(text)
        if self._spool is not None:
            self._spool.write(f"{text}\n")
            self._spool.flush()

    def note(self, line: str) -> None:
        """What was typed goes to the spool, too."""
        if self._spool is not None:
            self._spool.write(f"ksql> {line}\n")

    def _execute(self, raw: RawStatement) -> None:
        try:
            raw = substituted(raw, self.variables)
            node: s.Statement | None = parse_statement(raw)
        except SqlError as error:
            if "variable" in str(error):
                raise Refused(str(error)) from error
            node = None  # the server may know more than this shell does
        text = f"{raw.text.strip()};"
        own = self._own(node)
        if own is not None:
            own()
        elif isinstance(node, s.Query):
            if self.live and node.emit is not None and node.group_by and not (self.as_json or self.wide):
                self._watch(text)
            else:
                self._select(text)
        elif isinstance(node, s.PrintTopic):
            for line in self.server.printed(text, self.properties):
                self.say(line)
        else:
            for answer in self.server.ksql(text, self.properties):
                self._show(answer)

    def _own(self, node: s.Statement | None) -> Callable[[], Any] | None:
        """Statements that the shell executes by itself."""
        match node:
            case s.SetProperty():
                return lambda: self._set(node.name, node.value)
            case s.UnsetProperty():
                return lambda: self.properties.pop(node.name, None)
            case s.DefineVariable():
                return lambda: self.variables.update({node.name: node.value})
            case s.UndefineVariable():
                return lambda: self.variables.pop(node.name, None)
            case s.RunScript():
                return lambda: self.run_file(Path(node.path))
            case s.Show(what="VARIABLES"):
                return self._show_variables
            case _:
                return None

    def _set(self, name: str, value: str) -> None:
        self.properties[name] = value
        self.say(f"Successfully changed local property '{name}' to '{value}'.")

    def _show_variables(self) -> None:
        found = [{"name": name, "value": value} for name, value in self.variables.items()]
        self._show({"@type": "variables", "variables": found})

    def _show(self, answer: dict[str, Any]) -> None:
        self.say(json.dumps(answer, ensure_ascii=False) if self.as_json else tables.describe(answer))

    def _watch(self, text: str) -> None:
        """The rows of a table as they are now; the last picture goes to the spool."""

        def size() -> tuple[int, int]:
            self.before_output()
            found = shutil.get_terminal_size()
            return found.columns, found.lines

        picture = None
        try:
            picture = live.show(self.server.changes(text, self.properties), size, live.Screen())
        except ValueError as error:
            raise Refused(str(error)) from error
        if picture is not None and self._spool is not None:
            self._spool.write(f"{picture.text(live.MOST_KEYS, 1000)}\n")

    def _select(self, text: str) -> None:
        rows = self.server.rows(text, self.properties)
        header = next(rows)
        names = header["columnNames"]
        rows_table = tables.LiveTable(names, shutil.get_terminal_size().columns)
        if self.as_json:
            self.say(json.dumps(header, ensure_ascii=False))
        elif not self.wide:
            self.say(rows_table.head())
        for number, row in enumerate(rows, 1):
            if isinstance(row, dict):  # the query failed while it ran
                raise Refused(str(row.get("message", row)))
            if self.as_json:
                self.say(json.dumps(row, ensure_ascii=False))
            else:
                self.say(tables.wide_row(names, row, number) if self.wide else rows_table.row(row))
        if not self.as_json:
            self.say("Query terminated")
