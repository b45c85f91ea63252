"""`/contexts/.NAME/…` as a base path: a path below it means the same path with its subjects in that context.

Rewriting happens before routing, so routes and rights see one way of naming a subject: `:.NAME:SUBJECT`.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.types import Receive, Scope, Send

from penstock.web.application import App

_PREFIX = b"/contexts/"


class ContextPaths:
    """An application around the registry's."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path") or quote(scope["path"]).encode()
            if raw.startswith(_PREFIX):
                path, query = rewritten(raw.decode("latin-1"), scope["query_string"].decode("latin-1"))
                scope = {
                    **scope,
                    "raw_path": path.encode("latin-1"),
                    "path": unquote(path),
                    "query_string": query.encode("latin-1"),
                }
        await self._app(scope, receive, send)


def rewritten(path: str, query: str) -> tuple[str, str]:
    """The path and the query that are meant, both still encoded."""
    _, _, context, *rest = path.split("/")
    if not any(rest):
        return path, query
    name = unquote(context)
    if name.startswith(":.") and name.endswith(":"):  # as a subject's context is written
        name = name[1:-1]
    name = name if name.startswith(".") else f".{name}"
    match rest:
        case ["subjects" | "config" | "mode" as kind, subject, *more] if subject:
            rest = [kind, _qualified(name, subject), *more]
        case ["compatibility", "subjects", subject, *more]:
            rest = ["compatibility", "subjects", _qualified(name, subject), *more]
        case ["config" | "mode" as kind, *_]:
            rest = [kind, _qualified(name, "")]
        case ["subjects", *_] | ["schemas"] | ["schemas", ""]:
            query = _with_qualified(query, "subjectPrefix", name)
        case ["schemas", "ids", *_]:
            query = _with_qualified(query, "subject", name)
    return "/" + "/".join(rest), query


def _qualified(context: str, subject: str) -> str:
    plain = unquote(subject)
    if plain.startswith((":.", ":*:")):
        return subject
    return quote(f":{context}:{plain.removeprefix(':')}", safe="")


def _with_qualified(query: str, name: str, context: str) -> str:
    given = parse_qsl(query, keep_blank_values=True)
    value = next((value for key, value in given if key == name), "")
    others = [(key, text) for key, text in given if key != name]
    return urlencode([*others, (name, unquote(_qualified(context, quote(value, safe=""))))])
