"""Statements as text that parses to the same tree: one line each, with a semicolon."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from penstock.sql import statements as s
from penstock.sql.printing import expression, name, string, type_name


def statement(node: s.Statement) -> str:
    return f"{_bare(node)};"


def _bare(node: s.Statement) -> str:
    return _joined(*_WRITERS[type(node)](node))


def _joined(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


def _if(condition: bool, text: str) -> str | None:
    return text if condition else None


def _listed(parts: Iterable[str]) -> str:
    return f"({', '.join(parts)})"


def _with(properties: tuple[s.Property, ...]) -> str | None:
    return f"WITH {_listed(map(_property, properties))}" if properties else None


def _property(node: s.Property) -> str:
    key = string(node.name) if node.is_text else name(node.name)
    return f"{key}={expression(node.value)}"


def _duration(node: s.Duration) -> str:
    return f"{node.value} {node.unit}S"


def _columns(nodes: tuple[s.ColumnDefinition, ...]) -> str | None:
    return _listed(map(_column, nodes)) if nodes else None


def _column(node: s.ColumnDefinition) -> str:
    constraint = node.constraint
    if node.header is not None:
        constraint = f"HEADER({string(node.header)})"
    return _joined(name(node.name), type_name(node.type), constraint)


def _names(names: tuple[str, ...]) -> str | None:
    return _listed(map(name, names)) if names else None


def _values(node: s.InsertValues | s.AssertValues) -> str:
    return _listed(expression(value) for value in node.values)


def _item(node: s.SelectItem) -> str:
    if node.star:
        if node.expression is not None:
            return f"{expression(node.expression, 9)}->*"
        return "*" if node.source is None else f"{name(node.source)}.*"
    assert node.expression is not None
    return _joined(expression(node.expression), node.alias and f"AS {name(node.alias)}")


def _source(node: s.Source) -> str:
    if node.query is not None:
        return f"({_bare(node.query)}) AS {name(node.alias or node.name)}"
    return _joined(name(node.name), node.alias and f"AS {name(node.alias)}")


def _join(node: s.Join) -> str:
    return _joined(
        f"{node.kind}{'' if node.kind == 'INNER' else ' OUTER'} JOIN",
        _source(node.right),
        _within(node.within) if node.within else None,
        f"ON {expression(node.criteria)}",
    )


def _within(node: s.Within) -> str:
    span = _duration(node.before)
    if node.after is not None:
        span = f"({span}, {_duration(node.after)})"
    return _joined(f"WITHIN {span}", _grace(node.grace))


def _grace(node: s.Duration | None) -> str | None:
    return f"GRACE PERIOD {_duration(node)}" if node else None


def _window(node: s.Window) -> str:
    parts = [_duration(node.size) if node.kind == "SESSION" else f"SIZE {_duration(node.size)}"]
    if node.advance:
        parts.append(f"ADVANCE BY {_duration(node.advance)}")
    if node.retention:
        parts.append(f"RETENTION {_duration(node.retention)}")
    if node.grace:
        parts.append(f"GRACE PERIOD {_duration(node.grace)}")
    return f"WINDOW {node.kind} {_listed(parts)}"


def _query(node: s.Query) -> list[str | None]:
    return [
        _joined("SELECT", _if(node.distinct, "DISTINCT"), ", ".join(map(_item, node.items))),
        f"FROM {_source(node.source)}",
        f"AS OF TIMESTAMP {string(node.as_of.value)}" if node.as_of else None,
        *map(_join, node.joins),
        _window(node.window) if node.window else None,
        f"WHERE {expression(node.where)}" if node.where else None,
        f"GROUP BY {', '.join(map(expression, node.group_by))}" if node.group_by else None,
        f"PARTITION BY {', '.join(map(expression, node.partition_by))}" if node.partition_by else None,
        f"HAVING {expression(node.having)}" if node.having else None,
        _start(node.start_at) if node.start_at else None,
        f"ORDER BY {', '.join(map(_ordered, node.order_by))}" if node.order_by else None,
        f"EMIT {node.emit}" if node.emit else None,
        f"LIMIT {node.limit}" if node.limit is not None else None,
        *(f"UNION ALL {_bare(each)}" for each in node.union),
    ]


def _start(node: s.StartAt) -> str:
    value = string(node.value) if isinstance(node.value, str) else node.value
    return f"START AT {name(node.what)}{'' if value is None else f' {value}'}"


def _ordered(node: s.Ordered) -> str:
    return f"{expression(node.expression)}{' DESC' if node.descending else ''}"


def _create_function(node: s.CreateFunction) -> list[str | None]:
    given = _listed(f"{name(each)} {type_name(kind)}" for each, kind in node.parameters)
    return [
        "CREATE",
        _if(node.or_replace, "OR REPLACE"),
        _if(node.kind == "AGGREGATE", "AGGREGATE"),
        "FUNCTION",
        _if(node.if_not_exists, "IF NOT EXISTS"),
        f"{name(node.name)}{given}",
        "RETURNS",
        _if(node.kind == "TABLE", "SETOF"),
        type_name(node.returns),
        f"LANGUAGE {name(node.language)}",
        _with(node.properties),
        None if node.text is None else f"AS {string(node.text)}",
    ]


def _create(node: s.CreateSource | s.CreateAsSelect) -> list[str | None]:
    source = isinstance(node, s.CreateSource) and node.is_source
    return [
        "CREATE",
        _if(node.or_replace, "OR REPLACE"),
        _if(source, "SOURCE"),
        node.kind,
        _if(node.if_not_exists, "IF NOT EXISTS"),
        name(node.name),
    ]


def _create_source(node: s.CreateSource) -> list[str | None]:
    return [*_create(node), _columns(node.columns), _with(node.properties)]


def _create_as(node: s.CreateAsSelect) -> list[str | None]:
    return [*_create(node), _with(node.properties), "AS", _bare(node.query)]


def _alter(node: s.AlterSource) -> list[str | None]:
    added = ", ".join(f"ADD COLUMN {_column(column)}" for column in node.columns)
    return [f"ALTER {node.kind}", name(node.name), added]


def _drop(node: s.DropSource) -> list[str | None]:
    absent, topic = _if(node.if_exists, "IF EXISTS"), _if(node.delete_topic, "DELETE TOPIC")
    return [f"DROP {node.kind}", absent, name(node.name), topic, _if(node.cascade, "CASCADE")]


def _explain(node: s.Explain) -> list[str | None]:
    explained = _bare(node.statement) if node.statement else name(node.query or "")
    return ["EXPLAIN", _if(node.analyze, "ANALYZE"), explained]


def _show(node: s.Show) -> list[str | None]:
    if node.name is not None:
        return ["SHOW", node.what, name(node.name)]
    what = "CONNECTOR PLUGINS" if node.what == "PLUGINS" else node.what
    return ["SHOW", _if(node.all, "ALL"), node.connector_kind, what, _if(node.extended, "EXTENDED")]


def _describe(node: s.Describe) -> list[str | None]:
    kind = node.what if node.what != "SOURCE" else None
    return ["DESCRIBE", kind, node.name and name(node.name), _if(node.extended, "EXTENDED")]


def _print(node: s.PrintTopic) -> list[str | None]:
    return [
        f"PRINT {string(node.topic)}",
        _if(node.from_beginning, "FROM BEGINNING"),
        None if node.interval is None else f"INTERVAL {node.interval}",
        None if node.limit is None else f"LIMIT {node.limit}",
    ]


def _create_connector(node: s.CreateConnector) -> list[str | None]:
    absent = _if(node.if_not_exists, "IF NOT EXISTS")
    return [f"CREATE {node.kind} CONNECTOR", absent, name(node.name), _with(node.properties) or "WITH ()"]


def _assert(node: s.AssertTopic | s.AssertSchema, *parts: str | None) -> list[str | None]:
    timeout = f"TIMEOUT {_duration(node.timeout)}" if node.timeout else None
    return ["ASSERT", _if(not node.exists, "NOT EXISTS"), *parts, timeout]


def _assert_schema(node: s.AssertSchema) -> list[str | None]:
    subject = None if node.subject is None else f"SUBJECT {string(node.subject)}"
    return _assert(node, "SCHEMA", subject, None if node.id is None else f"ID {node.id}")


def _assert_values(node: s.AssertValues) -> list[str | None]:
    head, middle = ("ASSERT NULL VALUES", "KEY") if node.tombstone else ("ASSERT VALUES", "VALUES")
    return [head, name(node.source), _names(node.columns), middle, _values(node)]


def _assert_source(node: s.AssertSource) -> list[str | None]:
    source = node.source
    return [f"ASSERT {source.kind}", name(source.name), _columns(source.columns), _with(source.properties)]


_WRITERS: Final[dict[type, Callable[[Any], list[str | None]]]] = {
    s.Query: _query,
    s.CreateSource: _create_source,
    s.CreateAsSelect: _create_as,
    s.AlterSource: _alter,
    s.DropSource: _drop,
    s.CreateType: lambda n: [
        "CREATE TYPE",
        _if(n.if_not_exists, "IF NOT EXISTS"),
        name(n.name),
        "AS",
        type_name(n.type),
    ],
    s.DropType: lambda n: ["DROP TYPE", _if(n.if_exists, "IF EXISTS"), name(n.name)],
    s.InsertSelect: lambda n: ["INSERT INTO", name(n.target), _with(n.properties), _bare(n.query)],
    s.InsertValues: lambda n: ["INSERT INTO", name(n.target), _names(n.columns), "VALUES", _values(n)],
    s.DeleteRows: lambda n: [f"DELETE FROM {name(n.target)} WHERE {expression(n.where)}"],
    s.CreateFunction: _create_function,
    s.DropFunction: lambda n: ["DROP FUNCTION", _if(n.if_exists, "IF EXISTS"), name(n.name)],
    s.ManageQuery: lambda n: [n.action, "ALL" if n.query is None else name(n.query)],
    s.Explain: _explain,
    s.Show: _show,
    s.Describe: _describe,
    s.PrintTopic: _print,
    s.SetProperty: lambda n: [f"SET {string(n.name)}={string(n.value)}"],
    s.UnsetProperty: lambda n: ["UNSET", string(n.name)],
    s.AlterSystem: lambda n: [f"ALTER SYSTEM {string(n.name)}={string(n.value)}"],
    s.DefineVariable: lambda n: [f"DEFINE {name(n.name)}={string(n.value)}"],
    s.UndefineVariable: lambda n: ["UNDEFINE", name(n.name)],
    s.CreateConnector: _create_connector,
    s.DropConnector: lambda n: ["DROP CONNECTOR", _if(n.if_exists, "IF EXISTS"), name(n.name)],
    s.AssertTopic: lambda n: _assert(n, f"TOPIC {string(n.topic)}", _with(n.properties)),
    s.AssertSchema: _assert_schema,
    s.AssertValues: _assert_values,
    s.AssertSource: _assert_source,
    s.RunScript: lambda n: ["RUN SCRIPT", string(n.path)],
}
