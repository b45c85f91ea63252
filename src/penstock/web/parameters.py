"""Query parameters: from text to the type that the route says."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request

from penstock.web.errors import HttpError
from penstock.web.routes import Query

_INT_DIGITS_MAX: Final = 19
_BOOLS: Final = {"true": True, "1": True, "": True, "false": False, "0": False}


def read_query(request: Request, wanted: tuple[Query, ...]) -> dict[str, Any]:
    """A value for every parameter of the route; 400 for one that cannot be read."""
    if not wanted or not request.scope.get("query_string"):
        return {query.name: query.default for query in wanted}
    given = request.query_params
    return {query.name: _read(query, given.get(query.name)) for query in wanted}


def _read(query: Query, text: str | None) -> Any:
    if text is None:
        return query.default
    if query.type is bool:
        value = _BOOLS.get(text.strip().lower())
        if value is None:
            raise HttpError(400, f"Query parameter {query.name} is {text[:80]!r}; it takes true or false.")
        return value
    if query.type is int:
        digits = text.strip().removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= _INT_DIGITS_MAX):
            raise HttpError(400, f"Query parameter {query.name} is {text[:80]!r}; it takes a whole number.")
        return int(text)
    return text
