"""Columns of a registry's schema written into a statement, so that its command stands alone."""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.row_schemas import ColumnSchema
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.formats import rules_of
from penstock.sql.parsing import parse_statement
from penstock.sql.properties import CREATE, Properties
from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.inference import infer_columns, is_bare
from penstock.sql.serdes.schemas import Schemas
from penstock.sql.syntax import BooleanLiteral


def with_inferred_columns(
    node: s.CreateSource, schemas: Schemas | None, key_format: str, value_format: str | None
) -> s.CreateSource:
    """The statement with the columns that it leaves out; unchanged where it names them all."""
    given = Properties(node.properties, CREATE, node.at)
    topic = given.text("KAFKA_TOPIC")
    if topic is None:
        return node
    key_name, value_name = given.formats(key_format, value_format)
    has_key = any(column.constraint in ("KEY", "PRIMARY KEY") for column in node.columns)
    has_value = any(column.constraint is None for column in node.columns)
    found: list[tuple[ColumnSchema, str]] = []
    bare = False
    if not has_key and rules_of(key_name, node.at).infers_schemas:
        word = " KEY" if node.kind == "STREAM" else " PRIMARY KEY"
        found += [(column, word) for column in _inferred(given, "KEY", key_name, topic, schemas, node)]
    if not has_value and rules_of(value_name, node.at).infers_schemas:
        value = _inferred(given, "VALUE", value_name, topic, schemas, node)
        bare = is_bare(value)
        found += [(column, "") for column in value]
    if not found:
        return node
    written = ", ".join(f"{column}{word}" for column, word in found)
    made = parse_statement(f"CREATE {node.kind} x ({written}) WITH (kafka_topic='x', value_format='JSON')")
    assert isinstance(made, s.CreateSource)
    columns = (*(replace(column, at=node.at) for column in made.columns), *node.columns)
    properties = node.properties
    if bare and given.boolean("WRAP_SINGLE_VALUE") is None:
        properties = (*properties, s.Property("WRAP_SINGLE_VALUE", BooleanLiteral(False)))
    return replace(node, columns=columns, properties=properties)


def _inferred(
    given: Properties, side: str, name: str, topic: str, schemas: Schemas | None, node: s.CreateSource
) -> tuple[ColumnSchema, ...]:
    if schemas is None:
        raise SqlError(
            f"Cannot infer the schema of the {side.lower()}: set ksql.schema.registry.url, or name the "
            "columns",
            *node.at,
        )
    form = given.format(side, name, 1)
    try:
        return infer_columns(form, topic, schemas, is_key=side == "KEY")
    except FormatError as error:
        if side == "KEY" and node.kind == "STREAM":
            return ()  # a stream may be without a key
        raise SqlError(str(error), *node.at) from error
