"""What the server answers when it refuses: ksqlDB's `generic_error` and `statement_error`.

KsqlError           status, error_code and message; `@type` is generic_error
└── StatementError  the same for one statement: its text, and what succeeded before it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from penstock.sqlserver.masking import masked
from penstock.web import HttpError

BAD_REQUEST: Final = 40000
BAD_STATEMENT: Final = 40001
QUERY_ENDPOINT: Final = 40002
TOO_MANY_QUERIES: Final = 40003
NOT_FOUND: Final = 40400
ASSERTION_FAILED: Final = 41700
NO_REGISTRY: Final = 42801
TOO_MANY_REQUESTS: Final = 42900
SERVER_ERROR: Final = 50000
NOT_READY: Final = 50300
COMMAND_TIMEOUT: Final = 50301
ASSERTION_STATUS: Final = 417


class KsqlError(HttpError):
    """An error code is the status times a hundred, and a number."""

    def __init__(self, message: str, code: int = BAD_REQUEST, status: int | None = None) -> None:
        super().__init__(code // 100 if status is None else status, message, code)


class StatementError(KsqlError):
    def __init__(
        self, message: str, text: str, entities: Sequence[Any] = (), code: int = BAD_STATEMENT
    ) -> None:
        super().__init__(message, code)
        self.text, self.entities = text, tuple(entities)


def error_body(error: HttpError) -> bytes:
    """The body of any refusal, of the web's shell too."""
    code = error.error_code if error.error_code >= 10_000 else error.status * 100
    body: dict[str, Any] = {"@type": "generic_error", "error_code": code, "message": error.message}
    if isinstance(error, StatementError):
        body["@type"] = "statement_error"
        body["statementText"] = masked(error.text)
        body["entities"] = list(error.entities)
    return msgspec.json.encode(body)
