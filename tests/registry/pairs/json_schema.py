"""Random JSON schemas: objects, arrays and alternatives, changed in the ways that people change them.

Three things are left out, because Confluent's rules, which ours are, promise nothing of them: alternatives of
a `oneOf` that come to overlap, a new property beside `patternProperties` in an object that is otherwise open,
and defaults that do not fit their own schema.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any

NAMES = ("a", "b", "c")
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def pair(random: Random) -> tuple[Any, Any]:
    first = {"$schema": DRAFT, **_object(random, 2)}
    second = copy.deepcopy(first)
    for _ in range(random.randint(0, 3)):
        _change(random, random.choice(list(_nodes(second))))
    for schema in (first, second):
        for node in _nodes(schema):
            _tidy(node)
    return first, second


def value(random: Random, schema: Any, depth: int = 4) -> Any:
    """A value that often fits the schema."""
    if depth <= 0 or not isinstance(schema, dict) or random.random() < 0.03:
        return random.choice((None, True, 1, 2.5, "x", "xyz", [], {}, [1], {"a": 1}))
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return value(random, random.choice(schema[key]), depth)
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "string")
    match random.choice(kind) if isinstance(kind, list) else kind:
        case "object":
            found = {
                name: value(random, each, depth - 1)
                for name, each in schema.get("properties", {}).items()
                if name in schema.get("required", ()) or random.random() < 0.6
            }
            if random.random() < 0.4:
                found[random.choice((*NAMES, "d", "pre1"))] = value(random, {"type": "integer"}, depth - 1)
            return found
        case "array":
            first = [value(random, each, depth - 1) for each in schema.get("prefixItems", ())]
            more = schema.get("items", schema.get("contains", {"type": "integer"}))
            return [*first, *(value(random, more, depth - 1) for _ in range(random.randint(0, 3)))]
        case "integer":
            return random.randint(-3, 12)
        case "number":
            return random.choice((0.5, 1, 7.25, 10))
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
    return "x" * random.randint(0, 6)


def completed(found: Any, schema: Any) -> Any:
    """The value with the defaults of required properties that it lacks: readers fill them in."""
    if not isinstance(schema, dict):
        return found
    if isinstance(found, dict):
        properties = schema.get("properties", {})
        out = {name: completed(each, properties.get(name)) for name, each in found.items()}
        for name in schema.get("required", ()):
            if name not in out and isinstance(properties.get(name), dict) and "default" in properties[name]:
                out[name] = properties[name]["default"]
        return out
    if isinstance(found, list):
        first = schema.get("prefixItems", ())
        return [completed(each, first[n] if n < len(first) else schema.get("items"))
                for n, each in enumerate(found)]  # fmt: skip
    return found


def _object(random: Random, depth: int) -> dict[str, Any]:
    properties = {name: _schema(random, depth - 1) for name in NAMES if random.random() < 0.6}
    found: dict[str, Any] = {"type": "object", "properties": properties}
    required = [name for name in properties if random.random() < 0.3]
    if required:
        found["required"] = required
    choice = random.random()
    if choice < 0.4:
        found["additionalProperties"] = False
    elif choice < 0.5:
        found["additionalProperties"] = {"type": random.choice(("integer", "string"))}
    elif choice < 0.6:
        found["unevaluatedProperties"] = random.choice((False, {"type": "integer"}))
    elif choice < 0.65:
        found["patternProperties"] = {"^pre": {"type": "integer"}}
    if random.random() < 0.1:
        found["dependentRequired"] = {"a": ["b"]}
    if random.random() < 0.1:
        found["dependentSchemas"] = {"a": {"required": [random.choice(NAMES)]}}
    return found


def _schema(random: Random, depth: int) -> Any:
    choice = random.random()
    if depth > 0 and choice < 0.2:
        return _object(random, depth)
    if depth > 0 and choice < 0.4:
        return _array(random, depth)
    if depth > 0 and choice < 0.5:
        key = random.choice(("oneOf", "anyOf"))
        return {key: [{"type": kind} for kind in random.sample(("integer", "string", "null", "boolean"), 2)]}
    if choice < 0.55:
        return {"enum": random.sample(("x", "xx", "xxx", 1, 2), random.randint(1, 3))}
    kind = random.choice(("integer", "number", "string", "boolean", "null"))
    found: dict[str, Any] = {"type": kind}
    _limit(random, found)
    if random.random() < 0.2:
        found["default"] = {"integer": 5, "number": 5, "string": "xxx", "boolean": True, "null": None}[kind]
    return found


def _array(random: Random, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "array"}
    if random.random() < 0.3:
        found["prefixItems"] = [_schema(random, depth - 1) for _ in range(random.randint(1, 2))]
    choice = random.random()
    if choice < 0.4:
        found["items"] = _schema(random, depth - 1)
    elif choice < 0.5:
        found["items"] = False
    elif choice < 0.65:
        found["contains"] = _schema(random, 0)
        for key in ("minContains", "maxContains"):
            if random.random() < 0.3:
                found[key] = random.randint(0, 3)
    elif choice < 0.75:
        found["unevaluatedItems"] = random.choice((False, {"type": "integer"}))
    if random.random() < 0.2:
        found["maxItems"] = random.randint(2, 4)
    if random.random() < 0.1:
        found["uniqueItems"] = True
    return found


def _limit(random: Random, schema: dict[str, Any]) -> None:
    kind = schema.get("type")
    if kind in ("integer", "number") and random.random() < 0.3:
        schema["minimum" if random.random() < 0.5 else "maximum"] = random.randint(0, 8)
    elif kind == "string" and random.random() < 0.3:
        schema["minLength" if random.random() < 0.5 else "maxLength"] = random.randint(1, 4)


_CHANGED = ("minimum", "maximum", "minLength", "maxLength", "maxItems", "uniqueItems", "contains",
            "minContains", "maxContains", "additionalProperties", "unevaluatedProperties", "items",
            "unevaluatedItems", "required", "default", "dependentRequired", "dependentSchemas",
            "patternProperties", "prefixItems")  # fmt: skip


def _change(random: Random, node: dict[str, Any]) -> None:
    choice = random.random()
    there = [key for key in _CHANGED if key in node]
    if choice < 0.25 and there:
        del node[random.choice(there)]
    elif choice < 0.5 and there:
        _change_value(random, node, random.choice(there))
    elif choice < 0.7 and isinstance(node.get("properties"), dict):
        name = random.choice(NAMES)
        if name in node["properties"]:
            del node["properties"][name]
        else:
            node["properties"][name] = _schema(random, 1)
    elif choice < 0.85:
        fresh = _array(random, 1) if node.get("type") == "array" else _object(random, 1)
        if node.get("type") in ("array", "object"):
            key = random.choice([key for key in fresh if key != "type"] or ["type"])
            node[key] = fresh[key]
        else:
            _limit(random, node)
    elif "type" in node and "$schema" not in node and not isinstance(node["type"], list):
        widened = [node["type"], "null"] if node["type"] != "null" else ["null", "string"]
        node["type"] = random.choice(("integer", "number", "string", widened))
    elif "enum" in node:
        node["enum"] = random.sample(("x", "xx", "xxx", 1, 2), random.randint(1, 4))
    elif "oneOf" in node or "anyOf" in node:
        key = "oneOf" if "oneOf" in node else "anyOf"
        node[key].append({"type": random.choice(("object", "array"))})


def _change_value(random: Random, node: dict[str, Any], key: str) -> None:
    old = node[key]
    if isinstance(old, int) and not isinstance(old, bool):
        node[key] = max(0, old + random.choice((-1, 1)))
    elif key == "required":
        node[key] = [name for name in node.get("properties", {}) if random.random() < 0.5]
    elif key in ("contains", "items"):
        node[key] = _schema(random, 1)
    elif key in ("additionalProperties", "unevaluatedProperties", "unevaluatedItems"):
        node[key] = random.choice((False, True, {"type": "integer"}, {"type": "number"}, {"type": "string"}))
    elif key == "dependentSchemas":
        node[key] = {"a": {"required": [random.choice(NAMES)]}}
    elif key == "dependentRequired":
        node[key] = {"a": [random.choice(("b", "c"))]}


def _tidy(node: dict[str, Any]) -> None:
    if "patternProperties" in node:
        node.setdefault("additionalProperties", False)
        if node["additionalProperties"] is True:
            node["additionalProperties"] = {"type": "integer"}
    if any(key in node for key in ("minimum", "maximum", "minLength", "maxLength")) or "enum" in node:
        node.pop("default", None)
    if isinstance(node.get("type"), str) and "default" in node:
        kinds = {"integer": int, "number": int, "string": str, "boolean": bool, "null": type(None)}
        if type(node["default"]) is not kinds.get(node["type"]):
            del node["default"]
    if ("dependentSchemas" in node or "dependentRequired" in node) and "a" in node.get("properties", {}):
        node["properties"]["a"].pop("default", None)


def _nodes(node: Any) -> Any:
    if isinstance(node, dict):
        yield node
        for key in ("items", "contains", "additionalProperties"):
            yield from _nodes(node.get(key))
        for each in node.get("properties", {}).values():
            yield from _nodes(each)
        for key in ("prefixItems", "anyOf"):
            for each in node.get(key, ()):
                yield from _nodes(each)
