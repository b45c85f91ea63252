"""Headless mode: the statements of a file, executed when the server starts.

What an earlier start has executed is restored from the command topic and passed over, so that a file may
grow: statements that it has gained are executed by the next start. Rows are inserted by the first start only.
"""

from __future__ import annotations

import logging
from pathlib import Path

from penstock.sql import statements as s
from penstock.sql.lexer import split
from penstock.sql.parsing import parse_statement
from penstock.sql.statement_printing import statement as printed
from penstock.sql.variables import substituted
from penstock.sqlserver.errors import KsqlError
from penstock.sqlserver.executing import FAILURES, Execution
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.sessions import Session

log = logging.getLogger(__name__)


def run_file(server: SqlServer, path: Path) -> None:
    """KsqlError, which names the file and the line, when a statement fails."""
    known = {command.statement for command in server.metastore.commands.values()}
    session = Session.of(server.settings.session, {}, {})
    passed_over = executed = 0
    try:
        for raw in split(path.read_text()):
            node = parse_statement(substituted(raw, session.variables))
            if _was_executed(server, node, known) or (passed_over and isinstance(node, _ROWS)):
                passed_over += 1
                continue
            Execution(server, session, raw, f"{raw.text.strip()};").run()
            executed += 1
    except (*FAILURES, OSError) as error:
        raise KsqlError(f"{path}: {error}") from error
    log.info("%s: %d statements executed, %d restored", path, executed, passed_over)


_ROWS = s.InsertValues | s.DeleteRows


def _was_executed(server: SqlServer, node: s.Statement, known: set[str]) -> bool:
    if isinstance(node, s.CreateSource | s.CreateAsSelect) and not node.or_replace:
        return node.name in server.metastore.catalogue.sources
    return printed(node) in known
