"""What a handler raises to refuse a request, and the body that a client then reads.

    HttpError      status, error_code, message; becomes {"error_code": …, "message": …}

Any other exception is a bug: it is logged, and the client reads 500 without its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec


class HttpError(Exception):
    """A refusal. `error_code` is the service's own code; without one it is the status."""

    def __init__(
        self,
        status: int,
        message: str,
        error_code: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = status if error_code is None else error_code
        self.message = message
        self.headers = dict(headers or {})


class ErrorBody(msgspec.Struct, rename={"code": "error_code"}):
    """The body of every error."""

    code: int
    message: str


def plain(status: int) -> HttpError:
    """The refusal that HTTP itself has a name for, worded as Confluent's services word it."""
    return HttpError(status, f"HTTP {status} {HTTPStatus(status).phrase}")


def encode(error: HttpError) -> bytes:
    return msgspec.json.encode(ErrorBody(error.error_code, error.message))
