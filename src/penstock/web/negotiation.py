"""Media types: which one a client and a route agree on, and whether a body's is one that the route reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from starlette.requests import Request

from penstock.web.errors import plain

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class MediaTypes:
    """What a route gives and takes, the preferred one first."""

    produced: tuple[str, ...] = (JSON,)
    consumed: tuple[str, ...] = (JSON,)


PLAIN_JSON = MediaTypes()


def header(request: Request, name: bytes) -> str:
    """A header of the request, by its name in small letters; empty where there is none. The first of several
    counts."""
    for each, value in request.scope["headers"]:
        if each == name:
            return bytes(value).decode("latin-1")
    return ""


@lru_cache(maxsize=1024)
def choose_produced(accept: str, types: MediaTypes) -> str:
    """The type of the answer: the one the client likes best, the route's order among equals. Or 406."""
    if not accept.strip():
        return types.produced[0]
    ranges = [_parse_range(part) for part in accept.split(",")[:32]]
    best, best_quality = "", 0.0
    for produced in types.produced:
        quality = max((q for pattern, q in ranges if _matches(pattern, produced)), default=0.0)
        if quality > best_quality:
            best, best_quality = produced, quality
    if not best:
        raise plain(406)
    return best


def check_consumed(content_type: str, types: MediaTypes) -> str:
    """The body's type without its parameters; a body without a type is taken as the preferred one. Or 415."""
    given = content_type.partition(";")[0].strip().lower()
    if not given:
        return types.consumed[0]
    if given not in types.consumed:
        raise plain(415)
    return given


def _parse_range(text: str) -> tuple[str, float]:
    pattern, *parameters = (part.strip() for part in text.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            return pattern.lower(), _quality(value)
    return pattern.lower(), 1.0


def _quality(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0


def _matches(pattern: str, media_type: str) -> bool:
    if pattern in ("*/*", "*"):
        return True
    return pattern == media_type or (
        pattern.endswith("/*") and media_type.startswith(pattern.removesuffix("*"))
    )
