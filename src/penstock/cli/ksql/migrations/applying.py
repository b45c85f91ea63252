"""Migrations applied to a server, one after another, each with its events before and after."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import click

from penstock.cli.ksql.migrations import metadata as m
from penstock.cli.ksql.migrations.project import Migration
from penstock.cli.ksql.requests import Server
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.lexer import split
from penstock.sql.parsing import parse_statement
from penstock.sql.variables import substituted

_SUPPORTED: Final = (
    s.CreateSource, s.CreateAsSelect, s.InsertSelect, s.InsertValues, s.ManageQuery, s.DropSource,
    s.AlterSource, s.CreateConnector, s.DropConnector, s.CreateType, s.DropType, s.SetProperty,
    s.UnsetProperty, s.DefineVariable, s.UndefineVariable, s.AssertTopic, s.AssertSchema, s.CreateFunction,
    s.DropFunction,
)  # fmt: skip


@dataclass
class Applier:
    server: Server
    metadata: m.Metadata
    variables: Mapping[str, str]
    dry_run: bool = False

    def apply(self, migration: Migration, previous: int) -> None:
        """ClickException when a statement fails: the version is then ERROR, and may be applied again."""
        click.echo(f"Migrating to version {migration.version}: {migration.name}")
        statements = self.statements(migration)
        if self.dry_run:
            click.echo("\n".join(text for _, text in statements))
            return
        event = m.Event(
            str(migration.version),
            migration.name,
            m.RUNNING,
            migration.checksum,
            _now(),
            previous=str(previous) if previous else m.NONE,
        )
        self.metadata.write(event, as_current=True)
        try:
            self._execute(statements)
        except click.ClickException as error:
            reason = error.format_message()
            self.metadata.write(
                replace(event, state=m.ERROR, completed_on=_now(), error_reason=reason), as_current=True
            )
            raise click.ClickException(
                f"Failed to migrate to version {migration.version}: {reason}"
            ) from error
        self.metadata.write(replace(event, state=m.MIGRATED, completed_on=_now()), as_current=True)
        click.echo("Successfully migrated")

    def statements(self, migration: Migration) -> list[tuple[s.Statement, str]]:
        """All of a file are read before the first is executed. Variables last for the file."""
        variables = dict(self.variables)
        found: list[tuple[s.Statement, str]] = []
        try:
            for raw in split(migration.path.read_text()):
                done = substituted(raw, variables)
                node = parse_statement(done)
                if not isinstance(node, _SUPPORTED):
                    raise click.ClickException(
                        f"{migration.path.name}, line {raw.line}: 'ksql-migrations' does not execute "
                        f"{type(node).__name__}; it changes what a server has."
                    )
                if isinstance(node, s.DefineVariable):
                    variables[node.name] = node.value
                elif isinstance(node, s.UndefineVariable):
                    variables.pop(node.name, None)
                found.append((node, f"{done.text.strip()};"))
        except (SqlError, OSError) as error:
            raise click.ClickException(f"{migration.path.name}: {error}") from error
        return found

    def _execute(self, statements: list[tuple[s.Statement, str]]) -> None:
        properties: dict[str, str] = {}
        for node, text in statements:
            match node:
                case s.SetProperty():
                    properties[node.name] = node.value
                case s.UnsetProperty():
                    properties.pop(node.name, None)
                case s.DefineVariable() | s.UndefineVariable():
                    pass
                case _:
                    self.server.ksql(text, properties)


def _now() -> str:
    return str(time.time_ns() // 1_000_000)
