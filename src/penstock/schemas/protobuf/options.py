"""Options: those of Protobuf become fields of its messages, custom ones stay as they are written."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import UninterpretedOption
from google.protobuf.message import Message

from penstock.schemas.protobuf.tokens import Tokens

Value = tuple[str, Any]
"""Kind and value of a constant: name, text, number, integer or aggregate."""


def read_option(tokens: Tokens) -> tuple[list[tuple[str, bool]], Value]:
    """`name = value`; the name in parts, each with whether it stands in parentheses."""
    parts: list[tuple[str, bool]] = []
    while True:
        if tokens.accept("("):
            parts.append((tokens.name(), True))
            tokens.expect(")")
        else:
            parts += [(part, False) for part in tokens.name().lstrip(".").split(".")]
        if tokens.kind != "name" or not tokens.next.startswith("."):
            break
    tokens.expect("=")
    return parts, read_constant(tokens)


def read_options_in_brackets(tokens: Tokens) -> list[tuple[list[tuple[str, bool]], Value]]:
    if not tokens.accept("["):
        return []
    found = [read_option(tokens)]
    while tokens.accept(","):
        found.append(read_option(tokens))
    tokens.expect("]")
    return found


def read_constant(tokens: Tokens) -> Value:
    if tokens.kind == "text":
        return "text", tokens.text()
    if tokens.next == "{":
        return "aggregate", _aggregate(tokens)
    sign = "-" if tokens.accept("-") else ""
    tokens.accept("+")
    if tokens.kind == "name":
        return "name", sign + tokens.take()
    word = tokens.next
    if tokens.kind == "number" and not word.lower().startswith("0x") and not word.isdigit():
        return "number", float(sign + tokens.take())
    return "integer", -tokens.integer() if sign else tokens.integer()


def apply_option(options: Message, parts: list[tuple[str, bool]], value: Value) -> None:
    """Sets a known option, or keeps a custom one."""
    if len(parts) == 1 and not parts[0][1]:
        field = options.DESCRIPTOR.fields_by_name.get(parts[0][0])
        if field is not None and _set(options, field, value):
            return
    kept: UninterpretedOption = options.uninterpreted_option.add()
    for name, extended in parts:
        kept.name.add(name_part=name, is_extension=extended)
    _keep(kept, value)


def _set(options: Message, field: Any, value: Value) -> bool:
    kind, constant = value
    if field.is_repeated:
        return False
    if field.type == FieldDescriptor.TYPE_BOOL and constant in ("true", "false"):
        setattr(options, field.name, constant == "true")
    elif field.type == FieldDescriptor.TYPE_STRING and kind == "text":
        setattr(options, field.name, constant)
    elif field.type == FieldDescriptor.TYPE_ENUM and constant in field.enum_type.values_by_name:
        setattr(options, field.name, field.enum_type.values_by_name[constant].number)
    else:
        return False
    return True


def _keep(kept: UninterpretedOption, value: Value) -> None:
    kind, constant = value
    match kind:
        case "name":
            kept.identifier_value = constant
        case "text":
            kept.string_value = constant.encode("utf-8", "surrogateescape")
        case "number":
            kept.double_value = constant
        case "aggregate":
            kept.aggregate_value = constant
        case _ if constant >= 0:
            kept.positive_int_value = constant
        case _:
            kept.negative_int_value = constant


def _aggregate(tokens: Tokens) -> str:
    """What stands in braces, as its words."""
    tokens.expect("{")
    words: list[str] = []
    depth = 1
    while True:
        word = tokens.take()
        depth += (word == "{") - (word == "}")
        if depth == 0:
            return " ".join(words)
        words.append(word)
