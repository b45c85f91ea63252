"""The ten symbols that moved most today: an aggregation in two phases, with a repartition between them.

First each symbol's first and last price of the day, where the symbol's trades are: in parallel. Then the
moves of all symbols together, by day: for that they go through a topic keyed by day, so that one task sees
them all. What travels there is a change of a table, old move and new: `remove` takes away what `add` added.

    trades        AAPL        {"symbol": "AAPL", "ask": 191.24, "size": 300}
    top-movers    2026-01-05  [{"symbol": "TSLA", "percent": -4.2}, {"symbol": "AAPL", "percent": 1.7}, …]

    python examples/top_movers.py --bootstrap-servers 127.0.0.1:9092
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.streams import (
    Application,
    JsonSerde,
    Materialized,
    StreamsBuilder,
    StringSerde,
    TimeWindows,
    Topology,
    Windowed,
    run,
)

TRADES, MOVERS = "trades", "top-movers"
HOW_MANY = 10
Move = dict[str, Any]


def topology() -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=JsonSerde())
    moves = (
        builder.stream(TRADES)
        .group_by_key()
        .windowed_by(TimeWindows(timedelta(days=1), grace=timedelta(minutes=10)))
        .aggregate(dict, first_and_last, materialized=Materialized("prices", value_serde=JsonSerde()))
    )
    (
        moves.group_by(by_day, key_serde=StringSerde(), value_serde=JsonSerde())
        .aggregate(dict, add, remove, materialized=Materialized("moves-by-day", value_serde=JsonSerde()))
        .map_values(top)
        .to_stream()
        .to(MOVERS)
    )
    return builder.build()


def first_and_last(symbol: str, trade: dict[str, Any], prices: dict[str, float]) -> dict[str, float]:
    return {"first": prices.get("first", trade["ask"]), "last": trade["ask"]}


def by_day(window: Windowed, prices: dict[str, float]) -> tuple[str, Move] | None:
    if not prices:
        return None  # what a symbol had before its first trade belongs to no list
    day = datetime.fromtimestamp(window.start // 1000, UTC).date().isoformat()
    percent = round(100 * (prices["last"] / prices["first"] - 1), 2)
    return day, {"symbol": window.key, "percent": percent}


def add(day: str, move: Move, moves: dict[str, float]) -> dict[str, float]:
    return {**moves, move["symbol"]: move["percent"]}


def remove(day: str, move: Move, moves: dict[str, float]) -> dict[str, float]:
    return {symbol: percent for symbol, percent in moves.items() if symbol != move["symbol"]}


def top(moves: dict[str, float]) -> list[Move]:
    """All moves are kept and ten are told: the eleventh is the tenth when another one falls back."""
    ranked = sorted(moves.items(), key=lambda move: (-abs(move[1]), move[0]))
    return [{"symbol": symbol, "percent": percent} for symbol, percent in ranked[:HOW_MANY]]


def main() -> int:
    parser = argparse.ArgumentParser(description="The ten symbols that moved most today.")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--state-dir", help="where local state is kept")
    parser.add_argument("--master", default="local[*]", help="Spark's: this machine, or spark://host:port")
    options = parser.parse_args()
    application = Application(
        topology(), "top-movers", options.bootstrap_servers, state_dir=options.state_dir
    )
    topics = {TRADES: {}, MOVERS: {"cleanup.policy": "compact"}}
    return run(application, topics=topics, partitions=4, master=options.master)


if __name__ == "__main__":
    sys.exit(main())
