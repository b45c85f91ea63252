"""Statements from what the grammar matched; see `building.py`."""

from __future__ import annotations

from dataclasses import replace

from lark import Token

from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.building import (
    Children,
    ExpressionBuilder,
    Marked,
    Name,
    at,
    every,
    first,
    has,
    mark,
    marked,
    name_text,
    number,
    one,
    unquoted,
    word,
)
from penstock.sql.named_queries import bounded, with_named_queries


def _properties(c: Children) -> tuple[s.Property, ...]:
    found = marked(c, "with")
    return tuple(every(s.Property, found.children)) if found else ()


def _columns(c: Children) -> tuple[s.ColumnDefinition, ...]:
    found = marked(c, "columns")
    return tuple(every(s.ColumnDefinition, found.children)) if found else ()


def _names(c: Children) -> tuple[str, ...]:
    found = marked(c, "names")
    return tuple(name.text for name in every(Name, found.children)) if found else ()


def _expression(c: Children, rule: str) -> x.Expression | None:
    found = marked(c, rule)
    return one(x.Expression, found.children) if found else None


def _groups(c: Children, rule: str) -> tuple[x.Expression, ...]:
    found = marked(c, rule)
    groups = marked(found.children, "groups") if found else None
    return tuple(every(x.Expression, groups.children)) if groups else ()


def _text(c: Children, index: int) -> str:
    strings = [child for child in c if isinstance(child, Token) and child.type == "STRING"]
    return unquoted(strings[index])


def _united(head: s.Query, others: list[s.Query]) -> s.Query:
    """EMIT, START AT and LIMIT are those of the whole; they stand behind the last SELECT, or the first."""
    last = others[-1]
    rest = tuple(replace(each, emit=None, limit=None, start_at=None, order_by=()) for each in others)
    return replace(
        head,
        emit=head.emit or last.emit,
        limit=last.limit if head.limit is None else head.limit,
        start_at=head.start_at or last.start_at,
        order_by=head.order_by or last.order_by,
        union=rest,
    )


_CONSTRAINTS = ("KEY", "PRIMARY", "HEADERS", "HEADER")


class StatementBuilder(ExpressionBuilder):
    """Rules of statements."""

    or_replace, if_not_exists, if_exists = mark("or_replace"), mark("if_not_exists"), mark("if_exists")
    columns, names, groups, create_head = mark("columns"), mark("names"), mark("groups"), mark("head")
    where, having, group_by = mark("where"), mark("having"), mark("group_by")
    partition_by, emit, limit = mark("partition_by"), mark("emit"), mark("limit")
    join_kind, grace, window_end = mark("join_kind"), mark("grace"), mark("window_end")
    not_exists, timeout, shown, constraint = (
        mark("not_exists"),
        mark("timeout"),
        mark("shown"),
        mark("constraint"),
    )

    def statement(self, c: Children) -> s.Statement:
        found: s.Statement = c[0]
        return found

    # Sources

    def create_source(self, c: Children) -> s.Statement:
        head = c[0].children
        return s.CreateSource(
            word(head, "STREAM", "TABLE") or "",
            name_text(c),
            _columns(c),
            _properties(c),
            or_replace=marked(head, "or_replace") is not None,
            if_not_exists=marked(head, "if_not_exists") is not None,
            is_source=has(head, "SOURCE"),
            at=at(c),
        )

    def create_as(self, c: Children) -> s.Statement:
        head = c[0].children
        return s.CreateAsSelect(
            word(head, "STREAM", "TABLE") or "",
            name_text(c),
            one(s.Query, c),
            _properties(c),
            or_replace=marked(head, "or_replace") is not None,
            if_not_exists=marked(head, "if_not_exists") is not None,
            at=at(c),
        )

    def column_definition(self, c: Children) -> s.ColumnDefinition:
        found = marked(c, "constraint")
        kind = header = None
        if found:
            kind = " ".join(t.type for t in every(Token, found.children) if t.type in _CONSTRAINTS)
            header = _text(found.children, 0) if has(found.children, "STRING") else None
        return s.ColumnDefinition(c[0].text, one(x.TypeName, c), kind, header, at=at(c))

    def added(self, c: Children) -> s.ColumnDefinition:
        return one(s.ColumnDefinition, c)

    def alter_source(self, c: Children) -> s.Statement:
        kind = word(c, "STREAM", "TABLE") or ""
        return s.AlterSource(kind, name_text(c), tuple(every(s.ColumnDefinition, c)), at=at(c))

    def drop_source(self, c: Children) -> s.Statement:
        kind = word(c, "STREAM", "TABLE") or ""
        return s.DropSource(
            kind,
            name_text(c),
            marked(c, "if_exists") is not None,
            has(c, "DELETE"),
            has(c, "CASCADE"),
            at=at(c),
        )

    def create_type(self, c: Children) -> s.Statement:
        absent = marked(c, "if_not_exists") is not None
        return s.CreateType(name_text(c), one(x.TypeName, c), absent, at=at(c))

    def drop_type(self, c: Children) -> s.Statement:
        return s.DropType(name_text(c), marked(c, "if_exists") is not None, at=at(c))

    def with_(self, c: Children) -> Marked:
        return Marked("with", c, at(c))

    def property(self, c: Children) -> s.Property:
        return s.Property(name_text(c), c[-1], isinstance(c[0], Token), at=at(c))

    # Data

    def insert_select(self, c: Children) -> s.Statement:
        return s.InsertSelect(name_text(c), one(s.Query, c), _properties(c), at=at(c))

    def insert_values(self, c: Children) -> s.Statement:
        return s.InsertValues(name_text(c), _names(c), tuple(every(x.Expression, c)), at=at(c))

    def delete_rows(self, c: Children) -> s.Statement:
        return s.DeleteRows(name_text(c), c[-1], at=at(c))

    # Functions

    parameters = mark("parameters")

    def parameter(self, c: Children) -> Marked:
        return Marked("parameter", [c[0].text, c[1]], at(c))

    def create_function(self, c: Children) -> s.Statement:
        names = [name.text for name in every(Name, c)]
        given = marked(c, "parameters")
        pairs = tuple(tuple(each.children) for each in every(Marked, given.children if given else []))
        text = next((child for child in c if isinstance(child, Token) and child.type == "BLOCK"), None)
        if text is not None:
            body: str | None = text[2:-2]
        else:
            body = _text(c, 0) if has(c, "STRING") else None
        kind = "AGGREGATE" if has(c, "AGGREGATE") else "TABLE" if has(c, "SETOF") else "SCALAR"
        return s.CreateFunction(
            names[0],
            pairs,
            one(x.TypeName, c),
            names[1],
            body,
            _properties(c),
            kind,
            marked(c, "or_replace") is not None,
            marked(c, "if_not_exists") is not None,
            at=at(c),
        )

    def drop_function(self, c: Children) -> s.Statement:
        return s.DropFunction(name_text(c), marked(c, "if_exists") is not None, at=at(c))

    # Queries

    def item(self, c: Children) -> s.SelectItem:
        alias = marked(c, "alias")
        return s.SelectItem(c[0], alias.children[0].text if alias else None, at=at(c))

    def alias(self, c: Children) -> Marked:
        return Marked("alias", [c[-1]], at(c))

    def all_columns(self, c: Children) -> s.SelectItem:
        return s.SelectItem(star=True, at=at(c))

    def all_of_source(self, c: Children) -> s.SelectItem:
        return s.SelectItem(star=True, source=c[0].text, at=at(c))

    def all_fields(self, c: Children) -> s.SelectItem:
        return s.SelectItem(c[0], star=True, at=at(c))

    def source_alias(self, c: Children) -> Marked:
        return Marked("alias", [c[-1]], at(c))

    def source(self, c: Children) -> s.Source:
        found = marked(c, "alias")
        alias = found.children[0].text if found else None
        query = first(s.Query, c)
        if query is not None:
            return s.Source(alias or "", alias, query, at=at(c))
        return s.Source(c[0].text, alias, at=at(c))

    def start_at(self, c: Children) -> s.StartAt:
        value = c[-1] if isinstance(c[-1], Token) else None
        if value is not None and value.type == "INTEGER_VALUE":
            return s.StartAt(c[2].text, int(value), at=at(c))
        return s.StartAt(c[2].text, None if value is None else unquoted(value), at=at(c))

    def as_of(self, c: Children) -> s.AsOf:
        return s.AsOf(unquoted(c[-1]), at=at(c))

    def ordered(self, c: Children) -> s.Ordered:
        return s.Ordered(c[0], has(c, "DESC"), at=at(c))

    order_by, named_queries = mark("order_by"), mark("named_queries")

    def named_query(self, c: Children) -> Marked:
        return Marked("named_query", [c[0].text, one(s.Query, c)], at(c))

    def within(self, c: Children) -> s.Within:
        durations = every(s.Duration, c)
        grace = marked(c, "grace")
        after = durations[1] if len(durations) > 1 else None
        return s.Within(durations[0], after, one(s.Duration, grace.children) if grace else None, at=at(c))

    def join(self, c: Children) -> s.Join:
        kind = marked(c, "join_kind")
        side = kind.children[0].type if kind else "INNER"
        return s.Join(side, one(s.Source, c), c[-1], first(s.Within, c), at=at(c))

    def _window(self, kind: str, c: Children) -> s.Window:
        durations = every(s.Duration, c)
        end = marked(c, "window_end")
        grace = marked(end.children, "grace") if end else None
        return s.Window(
            kind,
            durations[0],
            durations[1] if len(durations) > 1 else None,
            first(s.Duration, end.children) if end else None,
            one(s.Duration, grace.children) if grace else None,
            at=at(c),
        )

    def tumbling(self, c: Children) -> s.Window:
        return self._window("TUMBLING", c)

    def hopping(self, c: Children) -> s.Window:
        return self._window("HOPPING", c)

    def session(self, c: Children) -> s.Window:
        return self._window("SESSION", c)

    def window(self, c: Children) -> s.Window:
        return one(s.Window, c)

    def query(self, c: Children) -> s.Statement:
        head, *others = every(s.Query, c)
        found = marked(c, "named_queries")
        whole = _united(head, others) if others else head
        if found is None:
            return bounded(whole)
        return with_named_queries(whole, [tuple(each.children) for each in every(Marked, found.children)])

    clauses, ending = mark("clauses"), mark("ending")

    def select(self, c: Children) -> s.Statement:
        c = [*c[:-2], *c[-2].children, *c[-1].children]
        emit, limit, order = marked(c, "emit"), marked(c, "limit"), marked(c, "order_by")
        return s.Query(
            tuple(every(s.SelectItem, c)),
            one(s.Source, c),
            tuple(every(s.Join, c)),
            first(s.Window, c),
            _expression(c, "where"),
            _groups(c, "group_by"),
            _groups(c, "partition_by"),
            _expression(c, "having"),
            word(emit.children, "CHANGES", "FINAL") if emit else None,
            number(limit.children) if limit else None,
            has(c, "DISTINCT"),
            tuple(every(s.Ordered, order.children)) if order else (),
            first(s.StartAt, c),
            first(s.AsOf, c),
            at=at(c),
        )

    # Running queries

    def manage_query(self, c: Children) -> s.Statement:
        return s.ManageQuery(c[0].type, None if has(c, "ALL") else name_text(c), at=at(c))

    def explain(self, c: Children) -> s.Statement:
        statement = first(s.Statement, c)
        analyze = has(c, "ANALYZE")
        return s.Explain(None if statement else name_text(c), statement, analyze, at=at(c))

    # Looking

    def show(self, c: Children) -> s.Statement:
        found = c[1].children
        if has(found, "CREATE"):
            kind = word(found, "STREAM", "TABLE", "FUNCTION")
            return s.Show(f"CREATE {kind}", name=name_text(found), at=at(c))
        what = [t.type for t in every(Token, found) if t.type not in ("ALL", "EXTENDED", "SOURCE", "SINK")][
            -1
        ]
        return s.Show(
            what, has(found, "EXTENDED"), has(found, "ALL"), word(found, "SOURCE", "SINK"), at=at(c)
        )

    def describe_source(self, c: Children) -> Marked:
        return Marked("described", ["SOURCE", name_text(c), has(c, "EXTENDED")], at(c))

    def describe_all(self, c: Children) -> Marked:
        return Marked("described", [c[0].type, None, has(c, "EXTENDED")], at(c))

    def describe_function(self, c: Children) -> Marked:
        return Marked("described", ["FUNCTION", name_text(c), False], at(c))

    def describe_connector(self, c: Children) -> Marked:
        return Marked("described", ["CONNECTOR", name_text(c), False], at(c))

    def describe(self, c: Children) -> s.Statement:
        return s.Describe(*c[1].children, at=at(c))

    def print_topic(self, c: Children) -> s.Statement:
        name, limit = first(Name, c), marked(c, "limit")
        interval = number(c) if has(c, "INTERVAL", "SAMPLE") else None
        topic = name.written if name else _text(c, 0)  # topics keep their case
        return s.PrintTopic(
            topic, has(c, "BEGINNING"), interval, number(limit.children) if limit else None, at=at(c)
        )

    # Settings

    def set_property(self, c: Children) -> s.Statement:
        return s.SetProperty(_text(c, 0), _text(c, 1), at=at(c))

    def unset_property(self, c: Children) -> s.Statement:
        return s.UnsetProperty(_text(c, 0), at=at(c))

    def alter_system(self, c: Children) -> s.Statement:
        return s.AlterSystem(_text(c, 0), _text(c, 1), at=at(c))

    def define(self, c: Children) -> s.Statement:
        return s.DefineVariable(name_text(c), _text(c, 0), at=at(c))

    def undefine(self, c: Children) -> s.Statement:
        return s.UndefineVariable(name_text(c), at=at(c))

    # Connectors

    def create_connector(self, c: Children) -> s.Statement:
        absent = marked(c, "if_not_exists") is not None
        kind = word(c, "SOURCE", "SINK") or ""
        return s.CreateConnector(kind, name_text(c), _properties(c), absent, at=at(c))

    def drop_connector(self, c: Children) -> s.Statement:
        return s.DropConnector(name_text(c), marked(c, "if_exists") is not None, at=at(c))

    # Asserting

    def assert_topic(self, c: Children) -> s.Statement:
        name = first(Name, c)
        timeout = marked(c, "timeout")
        return s.AssertTopic(
            name.written if name else _text(c, 0),
            _properties(c),
            one(s.Duration, timeout.children) if timeout else None,
            marked(c, "not_exists") is None,
            at=at(c),
        )

    def assert_schema(self, c: Children) -> s.Statement:
        name, timeout = first(Name, c), marked(c, "timeout")
        subject = None
        if has(c, "SUBJECT"):
            subject = name.written if name else _text(c, 0)
        return s.AssertSchema(
            subject,
            number(c) if has(c, "ID") else None,
            one(s.Duration, timeout.children) if timeout else None,
            marked(c, "not_exists") is None,
            at=at(c),
        )

    def assert_values(self, c: Children) -> s.Statement:
        return s.AssertValues(name_text(c), _names(c), tuple(every(x.Expression, c)), at=at(c))

    def assert_tombstone(self, c: Children) -> s.Statement:
        return s.AssertValues(name_text(c), _names(c), tuple(every(x.Expression, c)), True, at=at(c))

    def assert_source(self, c: Children) -> s.Statement:
        kind = word(c, "STREAM", "TABLE") or ""
        return s.AssertSource(
            s.CreateSource(kind, name_text(c), _columns(c), _properties(c), at=at(c)), at=at(c)
        )

    def run_script(self, c: Children) -> s.Statement:
        return s.RunScript(_text(c, 0), at=at(c))


setattr(StatementBuilder, "with", StatementBuilder.with_)  # the rule's name is a keyword of Python
