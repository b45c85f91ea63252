"""What is wrong with a statement, where, and what to do about it."""

from __future__ import annotations


class SqlError(ValueError):
    """A statement that cannot be understood. Lines and columns count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}:{column}: {message}")
        self.message, self.line, self.column = message, line, column
