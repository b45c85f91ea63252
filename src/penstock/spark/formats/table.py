"""The formats by the names that options give them, and the registry's clients of this process."""

from __future__ import annotations

import os
import threading
from functools import cache
from importlib import import_module
from typing import Final

from penstock.client.schema_registry import Schema, SchemaRegistry
from penstock.spark.formats.form import Format, SchemaProblem

_MODULES: Final = {
    "avro": ("avro", "Avro"),
    "json": ("json_schema", "JsonSchema"),
    "protobuf": ("protobuf", "Protobuf"),
}

_lock = threading.Lock()
_registries: dict[tuple[int, str], SchemaRegistry] = {}


@cache
def format_named(name: str) -> Format:
    """Loaded when it is first asked for: each brings a library, and every Python worker would pay for all."""
    module, kind = _MODULES[name]
    made: Format = getattr(import_module(f"penstock.spark.formats.{module}"), kind)()
    return made


def registry_for(urls: str) -> SchemaRegistry:
    """The process's own client, with what it has learnt: a Python worker serves many tasks."""
    key = (os.getpid(), urls)
    with _lock:
        if key not in _registries:
            _registries[key] = SchemaRegistry(urls)
        return _registries[key]


def checked(schema: Schema, form: Format, where: str) -> Schema:
    if schema.schema_type != form.schema_type:
        raise SchemaProblem(f"{where} is {schema.schema_type}, not {form.schema_type}")
    return schema
