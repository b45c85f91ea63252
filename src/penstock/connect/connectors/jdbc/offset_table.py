"""Offsets of topics in a table of the target, written in the transaction of the rows.

Its rows are locked from the start of a batch to its end: a task whose worker is gone, and which may still be
writing, ends before another task reads where to go on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable

from penstock.connect.connectors.jdbc.databases import Database
from penstock.protocol.topic_partition import TopicPartition

_UNKNOWN = -1


def _name(length: int) -> sa.types.TypeEngine[str]:
    """MariaDB and MySQL take `Orders` and `orders` for the same unless told otherwise: two topics would share
    their offsets, and the records of one be left out."""
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


class OffsetTable:
    def __init__(self, database: Database, name: str, connector: str) -> None:
        self._database, self._connector = database, connector
        self._table = sa.Table(
            database.identifier(name),
            sa.MetaData(),
            sa.Column("connector", _name(200), primary_key=True),
            sa.Column("topic", _name(249), primary_key=True),
            sa.Column("topic_partition", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("next_offset", sa.BigInteger, nullable=False),
        )

    def locked(
        self, connection: sa.Connection, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """What is stored, locked until the transaction ends. Made where there is nothing yet."""
        self._made(connection, partitions)
        table, found = self._table, {}
        for place in sorted(partitions):
            wanted = sa.select(table.c.next_offset).where(self._row(place)).with_for_update()
            found[place] = int(connection.execute(wanted).scalar_one())
        return {place: offset for place, offset in found.items() if offset != _UNKNOWN}

    def store(self, connection: sa.Connection, ends: Mapping[TopicPartition, int]) -> None:
        for place, offset in ends.items():
            connection.execute(sa.update(self._table).where(self._row(place)).values(next_offset=offset))

    def _made(self, connection: sa.Connection, partitions: Collection[TopicPartition]) -> None:
        if not sa.inspect(connection).has_table(self._table.name):
            self._attempted(connection, CreateTable(self._table, if_not_exists=True))
        connection.rollback()
        known = set(
            connection.execute(
                sa.select(self._table.c.topic, self._table.c.topic_partition).where(
                    self._table.c.connector == self._connector
                )
            ).tuples()
        )
        connection.rollback()
        for place in sorted(partitions):
            if tuple(place) not in known:
                row = {"connector": self._connector, "topic": place.topic, "topic_partition": place.partition}
                self._attempted(connection, sa.insert(self._table).values(**row, next_offset=_UNKNOWN))

    def _attempted(self, connection: sa.Connection, statement: object) -> None:
        """Another task may do the same at the same time: then it is done."""
        try:
            connection.execute(statement)
            connection.commit()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            connection.rollback()

    def _row(self, place: TopicPartition) -> sa.ColumnElement[bool]:
        table = self._table.c
        return sa.and_(
            table.connector == self._connector,
            table.topic == place.topic,
            table.topic_partition == place.partition,
        )
