"""Rules that are expressions: CEL and CEL_FIELD by `common-expression-language`, JSONATA by `jsonata-python`.

Both libraries come with the extra `rules`. An expression `guard; rest` runs `rest` where the guard holds.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
import uuid
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.client.serdes.rules.fields import Field
from penstock.client.serdes.rules.model import CONDITION
from penstock.client.serdes.rules.plain import plain, restored
from penstock.client.serdes.rules.running import RuleContext, RuleFailed

KEPT: Final = 1000
_EMAIL: Final = re.compile(r"[^@\s]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}")
_HOST: Final = re.compile(r"(?=.{1,253}\.?$)(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.?)+")


class Cel:
    """`message` is the whole value. A condition gives true or false, a transform the new value."""

    type = "CEL"

    def transform(self, context: RuleContext, value: Any) -> Any:
        return evaluate(context, {"message": plain(value)}, value)


class CelField:
    """`value` is a field; `name`, `fullName`, `typeName`, `tags` and `message` are about it."""

    type = "CEL_FIELD"
    of_fields = True

    def change(self, context: RuleContext, field: Field, value: Any) -> Any:
        if not field.is_primitive:
            return value
        arguments = {
            "value": plain(value),
            "fullName": field.full_name,
            "name": field.name,
            "typeName": field.type_name,
            "tags": sorted(field.tags),
            "message": plain(field.message),
        }
        return evaluate(context, arguments, value)


def evaluate(context: RuleContext, arguments: dict[str, Any], value: Any) -> Any:
    guard, separator, rest = context.rule.expr.partition(";")
    expression = rest if separator else guard
    if separator and guard.strip() and not _run(guard, arguments):
        return True if context.rule.kind == CONDITION else value
    result = _run(expression, arguments)
    return result if context.rule.kind == CONDITION else restored(result, value)


def _run(expression: str, arguments: dict[str, Any]) -> Any:
    import cel

    scope = cel.Context(variables={**arguments, "now": datetime.datetime.now(datetime.UTC)})
    for name, function in FUNCTIONS.items():
        scope.add_function(name, function)
    try:
        return _compiled(expression).execute(scope)
    except (ValueError, TypeError, RuntimeError) as error:
        raise RuleFailed(f"{expression.strip()}: {error}") from error


@lru_cache(maxsize=KEPT)
def _compiled(expression: str) -> Any:
    try:
        import cel
    except ImportError as error:
        raise _missing("CEL", "common-expression-language") from error
    try:
        return cel.compile(expression.strip())
    except ValueError as error:
        raise RuleFailed(f"{expression.strip()} is no CEL: {error}") from error


class Jsonata:
    """The whole value as JSON; mostly of migration rules."""

    type = "JSONATA"

    def transform(self, context: RuleContext, value: Any) -> Any:
        result = _jsonata(context.rule.expr, plain(value))
        return bool(result) if context.rule.kind == CONDITION else restored(result, value)


def _jsonata(expression: str, value: Any) -> Any:
    try:
        import jsonata
    except ImportError as error:
        raise _missing("JSONATA", "jsonata-python") from error
    try:
        return jsonata.Jsonata(expression).evaluate(value)
    except (jsonata.JException, ValueError, TypeError, RuntimeError) as error:
        raise RuleFailed(f"{expression.strip()}: {error}") from error


def _missing(kind: str, library: str) -> RuleFailed:
    return RuleFailed(f"a rule of type {kind} needs the library {library}: pip install 'penstock[rules]'")


def _is_ip(version: int) -> Any:
    def check(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _is_uri(text: str) -> bool:
    return bool(urlsplit(text).scheme)


FUNCTIONS: Final = {
    "isEmail": lambda text: _EMAIL.fullmatch(text) is not None,
    "isHostname": lambda text: _HOST.fullmatch(text) is not None,
    "isIpv4": _is_ip(4),
    "isIpv6": _is_ip(6),
    "isUri": _is_uri,
    "isUuid": _is_uuid,
}
"""Confluent's additions to CEL."""
