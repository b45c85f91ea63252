"""A form made of a schema: one field for each top-level field of a record, and the JSON value made of what
was written. Pure.

Avro records and JSON Schema objects have a form. What is nested stays JSON inside its field. Other schemas
(Protobuf, unions at the top) are written as JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from penstock.client.errors import InvalidValue

_NUMBERS: Final = ("int", "long", "float", "double", "integer", "number")


@dataclass(frozen=True, slots=True)
class FormField:
    name: str
    kind: str
    """string, a number's type, boolean, enum or json."""
    required: bool
    hint: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    branch: str = ""
    """With Avro's unions: the name under which JSON has a value that is not null."""


def form_of(schema_type: str, text: str) -> list[FormField] | None:
    """None when there is no form for it."""
    try:
        schema = json.loads(text)
    except ValueError:
        return None
    if not isinstance(schema, dict):
        return None
    if schema_type == "AVRO" and schema.get("type") == "record":
        return [_avro_field(each) for each in schema.get("fields", ())]
    if schema_type == "JSON" and isinstance(schema.get("properties"), dict):
        wanted = schema.get("required", ())
        return [_json_field(name, each, name in wanted) for name, each in schema["properties"].items()]
    return None


def value_of(form: list[FormField], written: dict[str, str]) -> str:
    """The JSON text of a record; a field left empty is left out, or null where the schema has null."""
    value: dict[str, Any] = {}
    for each in form:
        text = written.get(each.name, "").strip()
        if text:
            value[each.name] = _parsed(each, text)
        elif each.branch:
            value[each.name] = None
        elif each.default:
            value[each.name] = json.loads(each.default)
        elif each.required:
            raise InvalidValue(f"{each.name} is empty. The schema needs it.")
    return json.dumps(value, ensure_ascii=False)


def _parsed(each: FormField, text: str) -> Any:
    try:
        value = text if each.kind in ("string", "enum") else json.loads(text)
    except ValueError:
        example = "true or false" if each.kind == "boolean" else f"JSON of type {each.kind}"
        raise InvalidValue(f"{each.name} cannot be {text!r:.60}. Write {example}.") from None
    return {each.branch: value} if each.branch and each.branch != "null" else value


def _avro_field(field: dict[str, Any]) -> FormField:
    kind, branch, choices = _avro_kind(field["type"])
    has_default = "default" in field
    hint = ", ".join(filter(None, (kind, "" if branch or has_default else "required", field.get("doc", ""))))
    default = json.dumps(field["default"]) if has_default and not branch else ""
    return FormField(field["name"], kind, not (branch or has_default), hint, default, choices, branch)


def _avro_kind(schema: Any) -> tuple[str, str, tuple[str, ...]]:
    """Its kind, the branch of a union with null, and what it may be."""
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        if len(schema) == 2 and len(others) == 1:
            kind, _, choices = _avro_kind(others[0])
            return kind, _branch(others[0]), choices
        return "json", "", ()
    if isinstance(schema, dict):
        if schema.get("type") == "enum":
            return "enum", "", tuple(schema["symbols"])
        if isinstance(schema.get("type"), str) and "logicalType" in schema:
            return _avro_kind(schema["type"])
        return "json", "", ()
    if schema == "string" or schema == "boolean" or schema in _NUMBERS:
        return str(schema), "", ()
    return "json", "", ()


def _branch(schema: Any) -> str:
    if isinstance(schema, dict):
        named = schema.get("name")
        space = schema.get("namespace")
        return f"{space}.{named}" if named and space else str(named or schema.get("type"))
    return str(schema)


def _json_field(name: str, schema: Any, required: bool) -> FormField:
    found = schema if isinstance(schema, dict) else {}
    kind = found.get("type", "json")
    choices = tuple(str(each) for each in found.get("enum", ()))
    if choices and all(isinstance(each, str) for each in found["enum"]):
        kind = "enum"
    elif kind not in ("string", "boolean", *_NUMBERS):
        kind, choices = "json", ()
    hint = ", ".join(filter(None, (kind, "required" if required else "", found.get("description", ""))))
    return FormField(name, kind, required, hint, "", choices if kind == "enum" else ())
