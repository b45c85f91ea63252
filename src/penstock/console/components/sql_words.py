"""Completion in the SQL editor: words of the language, streams and tables, their columns, and functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from nicegui import ui

WORDS: Final = (
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "PARTITION", "EMIT", "CHANGES", "FINAL", "LIMIT",
    "WINDOW", "TUMBLING", "HOPPING", "SESSION", "SIZE", "ADVANCE", "GRACE", "PERIOD", "RETENTION", "JOIN",
    "LEFT", "RIGHT", "FULL", "OUTER", "INNER", "WITHIN", "ON", "AS", "CREATE", "REPLACE", "STREAM", "TABLE",
    "SOURCE", "WITH", "KAFKA_TOPIC", "VALUE_FORMAT", "KEY_FORMAT", "PARTITIONS", "TIMESTAMP", "INSERT",
    "INTO", "VALUES", "DROP", "DELETE", "TOPIC", "TERMINATE", "PAUSE", "RESUME", "EXPLAIN", "DESCRIBE",
    "EXTENDED", "SHOW", "STREAMS", "TABLES", "TOPICS", "QUERIES", "FUNCTIONS", "PROPERTIES", "VARIABLES",
    "CONNECTORS", "PRINT", "SET", "UNSET", "DEFINE", "UNDEFINE", "CAST", "CASE", "WHEN", "THEN", "ELSE",
    "END", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS", "NULL", "TRUE", "FALSE", "PRIMARY", "KEY",
    "HEADERS", "STRUCT", "MAP", "ARRAY", "VARCHAR", "STRING", "INTEGER", "INT", "BIGINT", "DOUBLE",
    "BOOLEAN", "DECIMAL", "BYTES", "DATE", "TIME", "WINDOWSTART", "WINDOWEND", "ROWTIME", "ROWPARTITION",
    "ROWOFFSET", "SECONDS", "MINUTES", "HOURS", "DAYS",
)  # fmt: skip


class SqlWords(ui.element, component="sql_words.js"):  # type: ignore[call-arg]
    def __init__(self, editor: ui.element) -> None:
        super().__init__()
        self._props["editor"] = editor.id
        self.show((), ())

    def show(self, names: Iterable[tuple[str, str]], functions: Iterable[str]) -> None:
        """`names` are pairs of a name and what it is: stream, table, or a column's type."""
        found: dict[str, dict[str, Any]] = {
            word: {"label": word, "type": "keyword", "boost": -1} for word in WORDS
        }
        found |= {name: {"label": name, "type": "function", "detail": "function"} for name in functions}
        found |= {
            name: {"label": name, "type": "variable", "detail": what, "boost": 2} for name, what in names
        }
        words = list(found.values())
        if words != self._props.get("words"):
            self._props["words"] = words
