"""Words of the language: which are keywords, and which of them cannot name something without quotes."""

from __future__ import annotations

from typing import Final

RESERVED: Final = frozenset(
    """
    AND AS BETWEEN BY CASE CAST CREATE DELETE DESCRIBE DISTINCT DROP ELSE END EXISTS FALSE FROM FULL
    GROUP HAVING IN INNER INSERT INTO IS JOIN LEFT LIKE LIMIT NOT NULL ON OR OUTER RIGHT SELECT STREAM
    TABLE THEN TRUE UNSET VALUES WHEN WHERE WITH WITHIN
    """.split()  # noqa: SIM905 - a column of strings is harder to read
)
"""Never a name, unless quoted."""

FREE: Final = frozenset(
    """
    AGGREGATE ANALYZE ASC CASCADE DESC LANGUAGE ORDER RETURNS SETOF START UNION
    ADD ADVANCE ALL ALTER ASSERT AT BEGINNING CHANGES COLUMN CONNECTOR CONNECTORS DEFINE EMIT ESCAPE
    EXPLAIN EXTENDED FINAL FUNCTION FUNCTIONS GRACE HEADER HEADERS HOPPING ID IF INTERVAL KEY LIST
    PARTITION PAUSE PERIOD PLUGINS PRIMARY PRINT PROPERTIES QUERIES REPLACE RESUME RETENTION RUN SAMPLE
    SCHEMA SCRIPT SESSION SET SHOW SINK SIZE SOURCE STREAMS SUBJECT SYSTEM TABLES TERMINATE TIME TIMEOUT
    TOPIC TOPICS TUMBLING TYPE TYPES UNDEFINE VARIABLES WINDOW ZONE
    """.split()  # noqa: SIM905 - a column of strings is harder to read
)
"""Keywords that may be names as well."""

CONSTRUCTORS: Final = frozenset({"ARRAY", "MAP", "STRUCT"})
"""Keywords before a bracket, names elsewhere."""

KEYWORDS: Final = RESERVED | FREE | CONSTRUCTORS

NOT_AN_ALIAS: Final = frozenset({"AT", "EMIT", "ESCAPE", "GRACE", "PARTITION", "WINDOW"})
"""Free words that cannot be an alias without AS, because they begin the next clause."""

NOT_A_SOURCE_ALIAS: Final = NOT_AN_ALIAS | {"ORDER", "START", "UNION"}
"""The same behind a source. These words are no part of ksqlDB's language, and may name columns."""

NOT_A_SOURCE: Final = frozenset({"STREAMS", "TABLES", "FUNCTION", "CONNECTOR"})
"""Free words that mean something else behind DESCRIBE."""

QUOTED: Final = RESERVED | CONSTRUCTORS | NOT_A_SOURCE_ALIAS | NOT_A_SOURCE | {"ALL", "ANALYZE", "COLUMN"}
"""Words that are written in quotes where they are names: some place would take them for keywords."""

SYMBOLS: Final = {
    ":=": "ASSIGN",
    "=>": "ARROW",
    "->": "DEREF",
    "<>": "NOT_EQUAL",
    "!=": "NOT_EQUAL",
    "<=": "AT_MOST",
    ">=": "AT_LEAST",
    "||": "CONCAT",
    "<": "LESS",
    ">": "GREATER",
    "=": "EQUAL",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    "(": "OPEN",
    ")": "CLOSE",
    "[": "OPEN_ITEM",
    "]": "CLOSE_ITEM",
    ",": "COMMA",
    ".": "DOT",
    ";": "SEMICOLON",
}
