"""Random Avro schemas: records of everything, changed in the ways that people change them."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
SYMBOLS = ("A", "B", "C", "D")
DEPTH = 3


def pair(random: Random) -> tuple[Any, Any]:
    first = _record(random, "R", DEPTH)
    second = copy.deepcopy(first)
    for _ in range(random.randint(0, 3)):
        _change(random, second)
    return first, second


def value(random: Random, schema: Any, named: dict[str, Any] | None = None) -> Any:
    """A value that fits the schema."""
    known = {} if named is None else named
    if isinstance(schema, list):
        return value(random, random.choice(schema), known)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(schema, dict) and "name" in schema:
        known[schema["name"]] = schema
    match kind:
        case "null":
            return None
        case "boolean":
            return random.random() < 0.5
        case "int":
            return random.randint(-(2**31), 2**31 - 1)
        case "long":
            return random.randint(-(2**63), 2**63 - 1)
        case "float" | "double":
            return float(random.randint(-1000, 1000))
        case "bytes":
            return bytes([random.randint(65, 90)] * random.randint(0, 3))
        case "string":
            return "x" * random.randint(0, 3)
        case "enum":
            return random.choice(schema["symbols"])
        case "fixed":
            return bytes(schema["size"])
        case "array":
            return [value(random, schema["items"], known) for _ in range(random.randint(0, 2))]
        case "map":
            return {str(n): value(random, schema["values"], known) for n in range(random.randint(0, 2))}
        case "record":
            return {each["name"]: value(random, each["type"], known) for each in schema["fields"]}
    return value(random, known[kind], known)


def _record(random: Random, name: str, depth: int) -> dict[str, Any]:
    fields = [_field(random, f"{name}{n}", depth - 1) for n in range(random.randint(0, 3))]
    return {"type": "record", "name": name, "fields": fields}


def _field(random: Random, name: str, depth: int) -> dict[str, Any]:
    kind = _type(random, name, depth)
    field: dict[str, Any] = {"name": f"f{name}", "type": kind}
    default = _default(random, kind)
    if default is not None and random.random() < 0.5:
        field["default"] = default[0]
    return field


def _type(random: Random, name: str, depth: int) -> Any:
    choice = random.random()
    if depth <= 0 or choice < 0.5:
        return random.choice(PRIMITIVES)
    if choice < 0.6:
        return {"type": "enum", "name": f"E{name}", "symbols": list(SYMBOLS[: random.randint(1, 3)])}
    if choice < 0.65:
        return {"type": "fixed", "name": f"F{name}", "size": random.randint(1, 3)}
    if choice < 0.75:
        return {"type": "array", "items": _type(random, name, depth - 1)}
    if choice < 0.8:
        return {"type": "map", "values": _type(random, name, depth - 1)}
    if choice < 0.9:
        chosen = random.sample(PRIMITIVES, random.randint(1, 3))
        return [*chosen, _record(random, f"U{name}", depth - 1)] if random.random() < 0.4 else chosen
    return _record(random, f"N{name}", depth - 1)


def _default(random: Random, kind: Any) -> tuple[Any] | None:
    first = kind[0] if isinstance(kind, list) else kind
    plain: dict[str, Any] = {"null": None, "boolean": True, "int": 1, "long": 2, "float": 1.5, "double": 2.5,
                             "bytes": "A", "string": "s"}  # fmt: skip
    if isinstance(first, str):
        return (plain[first],) if first in plain else None
    if first["type"] == "enum":
        return (first["symbols"][0],)
    return ([],) if first["type"] == "array" else ({},) if first["type"] == "map" else None


def _change(random: Random, schema: dict[str, Any]) -> None:
    records = list(_records(schema))
    record = random.choice(records)
    fields = record["fields"]
    choice = random.random()
    if choice < 0.25 or not fields:
        fields.append(_field(random, f"{record['name']}x{random.randint(0, 99)}y{len(fields)}", 1))
        return
    field = random.choice(fields)
    if choice < 0.45:
        fields.remove(field)
    elif choice < 0.55:
        default = _default(random, field["type"])
        if "default" in field:
            del field["default"]
        elif default is not None:
            field["default"] = default[0]
    elif choice < 0.65:
        random.shuffle(fields)
    elif choice < 0.75 and isinstance(field["type"], list):
        _change_union(random, field)
    else:
        _widen(random, field, record["name"])


def _change_union(random: Random, field: dict[str, Any]) -> None:
    branches = field["type"]
    field.pop("default", None)
    missing = [each for each in PRIMITIVES if each not in branches]
    if random.random() < 0.5 and missing:
        branches.append(random.choice(missing))
    elif len(branches) > 1:
        branches.remove(random.choice(branches))


def _widen(random: Random, field: dict[str, Any], name: str) -> None:
    kind = field["type"]
    field.pop("default", None)
    if isinstance(kind, dict) and kind["type"] == "enum":
        symbols = [symbol for symbol in SYMBOLS if random.random() < 0.7] or ["A"]
        kind["symbols"] = symbols
        kind.pop("default", None)
        if random.random() < 0.3:
            kind["default"] = symbols[0]
    elif isinstance(kind, str) and random.random() < 0.4:
        field["type"] = ["null", kind] if kind != "null" else ["null", "int"]
    else:
        field["type"] = _type(random, f"{name}z{random.randint(0, 99)}", 1)


def _records(schema: Any) -> Any:
    if isinstance(schema, list):
        for each in schema:
            yield from _records(each)
    elif isinstance(schema, dict):
        if schema["type"] == "record":
            yield schema
            for field in schema["fields"]:
                yield from _records(field["type"])
        else:
            yield from _records(schema.get("items"))
            yield from _records(schema.get("values"))
