"""Answers of /ksql: ksqlDB's entities as plain values, each with its `@type`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql.engine import PersistentQuery
from penstock.sql.sources import DataSource
from penstock.sqlserver.masking import masked
from penstock.sqlserver.metastore import CommandStatus

Entity = dict[str, Any]


def entity(kind: str, text: str, **fields: Any) -> Entity:
    return {"@type": kind, "statementText": masked(text), **fields, "warnings": []}


def current_status(text: str, command_id: str, status: CommandStatus, number: int) -> Entity:
    told = {"status": status.status, "message": status.message, "queryId": status.query_id}
    return entity(
        "currentStatus", text, commandId=command_id, commandStatus=told, commandSequenceNumber=number
    )


def replaced_query(old: PersistentQuery, new: PersistentQuery, readers: Sequence[str]) -> Entity:
    """What CREATE OR REPLACE does to a query's state: ours, no part of ksqlDB's answer."""
    before, after = ({store.name for store in each.plan.stores} for each in (old, new))
    topics, newer = ({topic.name for topic in each.plan.internal_topics} for each in (old, new))
    return {
        "queryId": new.id,
        "stateKept": sorted(before & after),
        "stateNew": sorted(after - before),
        "stateLost": sorted(before - after),
        "internalTopicsKept": sorted(topics & newer),
        "goesOnFrom": "committed offsets",
        "readBy": sorted(readers),
    }


def schema_json(kind: t.SqlType) -> Entity:
    """A type as fields of a description have it."""
    made: Entity = {"type": type_name(kind), "fields": None, "memberSchema": None}
    match kind:
        case t.Array(item=item):
            made["memberSchema"] = schema_json(item)
        case t.Map(value=value):
            made["memberSchema"] = schema_json(value)
        case t.Struct(fields=fields):
            made["fields"] = [{"name": each.name, "schema": schema_json(each.type)} for each in fields]
        case t.Decimal(precision=precision, scale=scale):
            made["parameters"] = {"precision": precision, "scale": scale}
    return made


def type_name(kind: t.SqlType) -> str:
    return str(kind) if isinstance(kind, t.Simple) else type(kind).__name__.upper()


def fields_json(source: DataSource) -> list[Entity]:
    headers = dict(source.headers)
    found = []
    for column in source.schema.columns:
        field = field_json(column)
        if column in source.schema.key:
            field["type"] = "KEY"
        elif column.name in headers:
            field["type"] = "HEADER"
            if headers[column.name] is not None:
                field["headerKey"] = headers[column.name]
        found.append(field)
    return found


def field_json(column: ColumnSchema) -> Entity:
    return {"name": column.name, "schema": schema_json(column.type)}


def source_line(source: DataSource) -> Entity:
    """A line of SHOW STREAMS or SHOW TABLES."""
    schema = source.schema
    return {
        "type": source.kind,
        "name": source.name,
        "topic": source.topic,
        "keyFormat": schema.key_format.name,
        "valueFormat": schema.value_format.name,
        "isWindowed": source.window is not None,
    }


def query_line(query_id: str, text: str, sink: DataSource, state: str) -> Entity:
    """A line of SHOW QUERIES."""
    return {
        "queryString": text,
        "sinks": [sink.name],
        "sinkKafkaTopics": [sink.topic],
        "id": query_id,
        "statusCount": {state: 1},
        "queryType": "PERSISTENT",
        "state": state,
    }


def source_description(
    source: DataSource,
    statement: str,
    reads: Iterable[Entity],
    writes: Iterable[Entity],
    constraints: Iterable[str],
    *,
    extended: bool = False,
    partitions: int = 0,
    replication: int = 0,
    statistics: str = "",
    offsets: Iterable[Entity] = (),
) -> Entity:
    return {
        "name": source.name,
        "windowType": source.window.kind if source.window else None,
        "readQueries": list(reads),
        "writeQueries": list(writes),
        "fields": fields_json(source),
        "type": source.kind,
        "timestamp": source.timestamp_column or "",
        "statistics": statistics,
        "errorStats": "",
        "extended": extended,
        "keyFormat": source.schema.key_format.name,
        "valueFormat": source.schema.value_format.name,
        "topic": source.topic,
        "partitions": partitions,
        "replication": replication,
        "statement": statement,
        "queryOffsetSummaries": list(offsets),
        "sourceConstraints": list(constraints),
        "clusterStatistics": [],
        "clusterErrorStats": [],
    }


def query_description(
    query_id: str,
    text: str,
    fields: list[Entity],
    sources: Iterable[str],
    sinks: Iterable[str],
    plan: str,
    topology: str,
    state: str,
    *,
    kind: str = "PERSISTENT",
    window: str | None = None,
    properties: Mapping[str, str] | None = None,
    errors: Iterable[str] = (),
    hosts: Mapping[str, str] | None = None,
    drawn: str = "",
) -> Entity:
    """`hosts` are the servers that run it, with its state there; `drawn` is a picture of its plan, ours."""
    return {
        "id": query_id,
        "statementText": text,
        "windowType": window,
        "fields": fields,
        "sources": list(sources),
        "sinks": list(sinks),
        "topology": topology,
        "executionPlan": plan,
        "overriddenProperties": dict(properties or {}),
        "ksqlHostQueryStatus": dict(hosts or {}),
        "picture": drawn,
        "queryType": kind,
        "queryErrors": [{"errorMessage": each, "type": "UNKNOWN"} for each in errors],
        "tasksMetadata": [],
        "state": state,
    }
