"""The columns of a query, by what the driver says of its result: a query has no table to look them up in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from penstock.connect.connectors.jdbc.column_types import Column, column

_POSTGRES: Final[dict[int, Any]] = {
    16: sa.Boolean(),
    17: sa.LargeBinary(),
    20: sa.BigInteger(),
    21: sa.SmallInteger(),
    23: sa.Integer(),
    25: sa.Text(),
    700: sa.REAL(),
    701: sa.Double(),
    1042: sa.String(),
    1043: sa.String(),
    1082: sa.Date(),
    1083: sa.Time(),
    1114: sa.DateTime(),
    1184: sa.DateTime(timezone=True),
}
_NUMERIC: Final = 1700
_MYSQL: Final[dict[int, Any]] = {
    1: mysql.TINYINT(),
    2: sa.SmallInteger(),
    3: sa.Integer(),
    9: sa.Integer(),
    4: mysql.FLOAT(),
    5: sa.Double(),
    7: sa.DateTime(),
    8: sa.BigInteger(),
    10: sa.Date(),
    11: sa.Time(),
    12: sa.DateTime(),
    13: sa.Integer(),
}
_MYSQL_DECIMALS: Final = (0, 246)
_PYTHON: Final[tuple[tuple[type, Any], ...]] = (
    (bool, sa.Boolean()), (int, sa.BigInteger()), (float, sa.Double()), (bytes, sa.LargeBinary()),
    (Decimal, sa.Numeric()), (dt.datetime, sa.DateTime()), (dt.date, sa.Date()), (dt.time, sa.Time()),
    (dt.timedelta, sa.Time()), (str, sa.Text()), (list, sa.ARRAY(sa.Text())),
)  # fmt: skip


def columns_of_rows(
    dialect: str, description: Sequence[Any], rows: Sequence[Any], numeric: str, zone: ZoneInfo
) -> list[Column]:
    """All optional: a query does not say what may be null."""
    found = []
    for index, each in enumerate(description):
        kind = _declared(dialect, each)
        if kind is None:
            kind = _seen(next((row[index] for row in rows if row[index] is not None), None))
        found.append(column(str(each[0]), kind, True, numeric, zone))
    return found


def _declared(dialect: str, each: Any) -> Any:
    if dialect == "postgresql":
        if each[1] == _NUMERIC:
            return sa.Numeric(each[4], each[5])
        return _POSTGRES.get(each[1])
    if dialect == "mysql":
        if each[1] in _MYSQL_DECIMALS:
            return sa.Numeric(each[4], each[5])
        return _MYSQL.get(each[1])
    return None


def _seen(value: Any) -> Any:
    for kind, found in _PYTHON:
        if isinstance(value, kind):
            return found
    return sa.Text()
