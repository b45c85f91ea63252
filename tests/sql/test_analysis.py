"""CREATE and SELECT against a catalogue: schemas, keys, and errors in ksqlDB's words at their places."""

from __future__ import annotations

import pytest

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.evaluating import evaluator
from penstock.sql import statements as s
from penstock.sql.analysis.query import AnalysedQuery, analyse_query
from penstock.sql.create_analysis import analyse_create
from penstock.sql.errors import SqlError
from penstock.sql.parsing import parse_statement
from penstock.sql.sources import Catalogue, DataSource, KeyWindow

ADDRESS = t.struct_of([("CITY", t.STRING), ("ZIP", t.INTEGER)])


def created(text: str, catalogue: Catalogue | None = None) -> DataSource:
    node = parse_statement(text)
    assert isinstance(node, s.CreateSource)
    return analyse_create(node, catalogue or Catalogue().with_type("ADDRESS", ADDRESS))


USERS = created(
    "CREATE STREAM users (id INT KEY, name STRING, at BIGINT, address address) "
    "WITH (kafka_topic='users', value_format='json', timestamp='at')"
)
CATALOGUE = Catalogue().with_type("ADDRESS", ADDRESS).with_source(USERS)
TABLE = created("CREATE TABLE accounts (id INT PRIMARY KEY, v INT) WITH (kafka_topic='a', format='JSON')")


def selected(text: str, persistent: str | None = None) -> AnalysedQuery:
    node = parse_statement(text)
    assert isinstance(node, s.Query)
    return analyse_query(node, CATALOGUE.with_source(TABLE), persistent=persistent)


def test_a_stream_has_its_schema() -> None:
    assert str(USERS.schema) == (
        "`ID` INTEGER KEY, `NAME` STRING, `AT` BIGINT, `ADDRESS` STRUCT<`CITY` STRING, `ZIP` INTEGER>"
    )
    assert (USERS.topic, USERS.timestamp_column, USERS.window) == ("users", "AT", None)
    assert (USERS.schema.key_format.name, USERS.schema.value_format.name) == ("KAFKA", "JSON")
    assert (USERS.schema.key_format.wrapped, USERS.schema.value_format.wrapped) == (False, True)


def test_formats_have_their_properties() -> None:
    source = created(
        "CREATE STREAM s (a INT KEY, b INT KEY, c INT) WITH (kafka_topic='s', key_format='DELIMITED', "
        "key_delimiter='TAB', value_format='JSON', wrap_single_value=false)"
    )
    assert source.schema.key_format.properties == (("delimiter", "\t"),)
    assert not source.schema.value_format.wrapped


def test_a_windowed_key_and_headers() -> None:
    source = created(
        "CREATE STREAM s (k STRING KEY, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, v INT) WITH "
        "(kafka_topic='s', value_format='AVRO', window_type='tumbling', window_size='10 seconds')"
    )
    assert source.window == KeyWindow("TUMBLING", 10_000)
    assert source.headers == (("H", None),)
    assert {"WINDOWSTART", "WINDOWEND", "ROWTIME"} <= source.columns.keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("STREAM s (a INT) WITH (value_format='JSON')", 'Missing required property "KAFKA_TOPIC"'),
        ("STREAM s (a INT) WITH (kafka_topic='s')", "Statement is missing the 'VALUE_FORMAT' property"),
        ("STREAM s (a INT) WITH (kafka_topic='s', format='JSON', value_format='JSON')", "Cannot supply both"),
        ("STREAM s (a INT) WITH (kafka_topic='s', value_format='XML')", "Unknown format: XML"),
        ("STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', foo=1)", "Invalid config variable(s)"),
        (
            "STREAM s (a INT, a INT) WITH (kafka_topic='s', value_format='JSON')",
            "Duplicate column names: `A`",
        ),
        ("STREAM s (a INT PRIMARY KEY) WITH (kafka_topic='s', value_format='JSON')", "please use 'KEY' for"),
        ("TABLE s (a INT KEY) WITH (kafka_topic='s', value_format='JSON')", "please use 'PRIMARY KEY' for"),
        ("TABLE s (a INT) WITH (kafka_topic='s', value_format='JSON')", "Tables require a PRIMARY KEY"),
        (
            "STREAM s WITH (kafka_topic='s', value_format='JSON')",
            "The statement does not define any columns.",
        ),
        ("STREAM s WITH (kafka_topic='s', value_format='AVRO')", "come from a Schema Registry"),
        ("STREAM s (rowtime INT) WITH (kafka_topic='s', value_format='JSON')", "is a reserved column name"),
        ("STREAM s (a FOO) WITH (kafka_topic='s', value_format='JSON')", "Cannot resolve unknown type: FOO"),
        (
            "STREAM s (a INT KEY, b INT KEY, c INT) WITH (kafka_topic='s', value_format='JSON')",
            "only supports",
        ),
        ("STREAM s (a MAP<STRING, INT> KEY) WITH (kafka_topic='s', format='JSON')", "Map keys, including"),
        ("STREAM s (a ARRAY<INT>) WITH (kafka_topic='s', value_format='DELIMITED')", "does not support type"),
        ("STREAM s (a DATE KEY) WITH (kafka_topic='s', value_format='JSON')", "does not support type 'DATE'"),
        (
            "STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', timestamp='b')",
            "does not exist in the",
        ),
        (
            "STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', timestamp='a')",
            "should be LONG(INT64)",
        ),
        ("STREAM s (a INT KEY) WITH (kafka_topic='s', format='JSON', window_type='x')", "Invalid value for"),
        (
            "STREAM s (a INT KEY) WITH (kafka_topic='s', format='JSON', window_type='hopping')",
            "require 'WINDOW_S",
        ),
        ("STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', partitions=0)", "must be at least 1"),
        ("STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', partitions='x')", "whole number"),
        ("STREAM s (a INT) WITH (kafka_topic=1, value_format='JSON')", "must be a string"),
        (
            "STREAM s (a INT, b INT) WITH (kafka_topic='s', value_format='JSON', wrap_single_value=true)",
            "single",
        ),
        (
            "STREAM s (a INT) WITH (kafka_topic='s', value_format='KAFKA', wrap_single_value=true)",
            "does not supp",
        ),
        (
            "STREAM s (a INT HEADER('x')) WITH (kafka_topic='s', value_format='JSON')",
            "Invalid type for HEADER",
        ),
        ("STREAM users (a INT) WITH (kafka_topic='s', value_format='JSON')", "Cannot add stream 'USERS'"),
    ],
)
def test_a_create_that_is_wrong_is_refused_in_ksqldbs_words(text: str, message: str) -> None:
    with pytest.raises(SqlError) as error:
        created(f"CREATE {text}", CATALOGUE)
    assert message in str(error.value)
    assert error.value.line == 1


def test_a_query_has_columns_types_and_a_key() -> None:
    query = selected("SELECT id, UCASE(name), u.address->city, u.id + 1 AS next, 5 FROM users u WHERE at > 0")
    assert [(column.name, str(column.expression.type)) for column in query.columns] == [
        ("ID", "INTEGER"),
        ("KSQL_COL_0", "STRING"),
        ("CITY", "STRING"),
        ("NEXT", "INTEGER"),
        ("KSQL_COL_1", "INTEGER"),
    ]
    assert [key.name for key in query.key] == ["ID"]
    assert query.where is not None
    row = {"ID": 7, "NAME": "ann", "AT": 1, "ADDRESS": {"CITY": "Ulm", "ZIP": 1}}
    assert [evaluator(column.expression)(row) for column in query.columns] == [7, "ANN", "Ulm", 8, 5]


def test_stars_expand_to_columns_and_fields() -> None:
    assert [column.name for column in selected("SELECT * FROM users").columns] == [
        "ID",
        "NAME",
        "AT",
        "ADDRESS",
    ]
    assert [column.name for column in selected("SELECT u.id, address->* FROM users u").columns] == [
        "ID",
        "CITY",
        "ZIP",
    ]


def test_partition_by_makes_another_key() -> None:
    query = selected("SELECT name AS n, id FROM users PARTITION BY name", persistent="OUT")
    assert [key.name for key in query.key] == ["N"]
    assert query.partition_by == (("KSQL_PARTITION_0", e.Column("NAME", t.STRING)),)
    assert selected("SELECT name FROM users PARTITION BY NULL", persistent="OUT").key == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM user", "line 1:15: USER does not exist. Did you mean USERS?"),
        ("SELECT nme FROM users", "line 1:8: SELECT column 'NME' cannot be resolved. Did you mean NAME?"),
        ("SELECT users.id FROM users u", "line 1:8: 'USERS' is not a valid stream/table name or alias."),
        ("SELECT x.* FROM users", "line 1:8: 'X' is not a valid stream/table name or alias."),
        (
            "SELECT id, name AS id FROM users",
            "line 1:12: Duplicate value columns found in schema: `ID` STRING",
        ),
        ("SELECT id FROM users WHERE name", "line 1:28: Type error in WHERE expression"),
        ("SELECT NULL FROM users", "line 1:8: Can't infer a type of null."),
        ("SELECT name->* FROM users", "line 1:8: Cannot expand all fields of STRING"),
        (
            "SELECT id FROM accounts PARTITION BY v",
            "line 1:38: PARTITION BY clause is only supported for STREAMs",
        ),
        (
            "SELECT COUNT(*) FROM users",
            "line 1:8: Use of aggregate function COUNT requires a GROUP BY clause.",
        ),
        ("SELECT EXPLODE(1) FROM users", "line 1:8: Function 'explode' does not accept parameters (INTEGER)"),
        ("SELECT id FROM users GROUP BY id", "line 1:31: GROUP BY requires aggregate functions"),
        ("SELECT id FROM users JOIN accounts ON 1 = 1", "line 1:39: Each side of the join must reference"),
    ],
)
def test_a_query_that_is_wrong_is_refused_at_its_place(text: str, message: str) -> None:
    with pytest.raises(SqlError) as error:
        selected(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT name FROM users", "The query used to build `OUT` must include the key column ID"),
        ("SELECT id, rowtime FROM users", "'ROWTIME' is a reserved column name"),
    ],
)
def test_a_persistent_query_needs_its_key_and_names_of_its_own(text: str, message: str) -> None:
    selected(text)
    with pytest.raises(SqlError) as error:
        selected(text, persistent="OUT")
    assert message in str(error.value)
