"""The search index: every order in its latest state, found by words. The index and its offsets are in one
SQLite file, so a crash neither loses nor repeats an order.

    python examples/orders/search.py SERVERS FILE            keeps the index
    python examples/orders/search.py --find WORDS FILE       asks it
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Sequence

from shop import ORDERS, order_of

from penstock.client import Consumer, RebalanceListener, TopicPartition

TABLES = """
CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, words TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS offsets (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL);
"""


class FromTheIndex(RebalanceListener):
    def __init__(self, consumer: Consumer, index: sqlite3.Connection) -> None:
        self._consumer, self._index = consumer, index

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        for each in partitions:
            row = self._index.execute(
                "SELECT next FROM offsets WHERE partition = ?", (each.partition,)
            ).fetchone()
            self._consumer.seek(each, row[0] if row else 0)


def keep(servers: str, path: str, goes_on: Callable[[], bool] = lambda: True) -> None:
    index = sqlite3.connect(path)
    index.executescript(TABLES)
    settings = {
        "bootstrap.servers": servers,
        "group.id": "search",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }
    with Consumer(settings) as consumer:
        consumer.subscribe([ORDERS], FromTheIndex(consumer, index))
        print("search is ready", flush=True)
        while goes_on():
            records = consumer.poll(0.5)
            with index:
                for record in records:
                    words = " ".join(map(str, order_of(record.value)))
                    index.execute("INSERT OR REPLACE INTO orders VALUES (?, ?)", (record.key.decode(), words))
                for each in records.partitions():
                    row = (each.partition, consumer.position(each))
                    index.execute("INSERT OR REPLACE INTO offsets VALUES (?, ?)", row)
    index.close()


def find(path: str, words: str) -> list[str]:
    """Ids of orders that have all the words."""
    index = sqlite3.connect(path)
    clause = " AND ".join("words LIKE ?" for _ in words.split())
    wanted = [f"%{word}%" for word in words.split()]
    found = index.execute(f"SELECT id FROM orders WHERE {clause} ORDER BY id", wanted).fetchall()
    index.close()
    return [row[0] for row in found]


if __name__ == "__main__":
    if sys.argv[1] == "--find":
        print("\n".join(find(sys.argv[3], sys.argv[2])))
    else:
        keep(sys.argv[1], sys.argv[2])
