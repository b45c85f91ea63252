"""From method and path to the route: a tree of segments, so that the number of routes costs nothing.

Paths are split before they are decoded: a subject may contain a slash, written as %2F.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from penstock.web.errors import HttpError, plain
from penstock.web.routes import Route

ANY = "{}"
"""The key of the branch that takes any segment."""
REMEMBERED: Final = 1024
REMEMBERED_BYTES_MAX: Final = 256
"""Paths that are asked for again and again are found at once; longer ones are not remembered."""


@dataclass(slots=True)
class _Node:
    routes: dict[str, tuple[Route, tuple[tuple[str, int], ...]]] = field(default_factory=dict)
    """By method: the route, and the names and places of its parameters."""
    children: dict[str, _Node] = field(default_factory=dict)


class Router:
    """Literal segments win over parameters, as in JAX-RS."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            node = self._root
            for part in route.segments:
                key = ANY if part.startswith("{") else part
                node = node.children.setdefault(key, _Node())
            assert route.method not in node.routes, f"{route.method} {route.path} is there twice"
            places = [at for at, part in enumerate(route.segments) if part.startswith("{")]
            node.routes[route.method] = route, tuple(zip(route.parameters, places, strict=True))
        self._remembered = lru_cache(REMEMBERED)(self._find)

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """The route and the values of its parameters; 404 or 405 when there is none."""
        if len(raw_path) > REMEMBERED_BYTES_MAX:
            return self._find(method, raw_path)
        return self._remembered(method, raw_path)

    def _find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        segments = _split(raw_path)
        nodes = self._nodes(self._root, segments, 0)
        found = next((node for node in nodes if method in node.routes), None)
        if found is None and method == "HEAD":
            found = next((node for node in nodes if "GET" in node.routes), None)
            method = "GET"
        if found is None:
            raise plain(405) if any(node.routes for node in nodes) else plain(404)
        route, places = found.routes[method]
        return route, {name: segments[at] for name, at in places}

    def _nodes(self, node: _Node, segments: list[str], at: int) -> list[_Node]:
        """Every node that the path may mean, the most literal one first."""
        if at == len(segments):
            return [node]
        found: list[_Node] = []
        for key in (segments[at], ANY) if segments[at] != ANY else (ANY,):
            child = node.children.get(key)
            if child is not None:
                found += self._nodes(child, segments, at + 1)
        return found


def _split(raw_path: bytes) -> list[str]:
    path = raw_path.partition(b"?")[0].strip(b"/")
    if not path:
        return []
    try:
        segments = [unquote_to_bytes(part).decode() for part in path.split(b"/")]
    except UnicodeDecodeError as error:
        raise HttpError(400, "The path is not UTF-8 behind its percent signs.") from error
    if any("\0" in segment for segment in segments):  # where a library in C would see the end of the name
        raise HttpError(400, "The path has a zero byte in it, which no name may have.")
    return segments
