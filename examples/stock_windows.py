"""Stock-market statistics with Streams: five-second windows every second, per symbol.

Reads the trades that `stock_statistics.py` generates, and gives the same statistics: minimum ask, number
of trades and average ask, once for each window, when it is over.

    trades           AAPL  {"symbol": "AAPL", "ask": 191.24, "size": 300, "time": "2026-01-05T14:30:00.123Z"}
    trade-windows    AAPL  {"symbol": "AAPL", "window_start": "2026-01-05T14:29:56Z",
                            "window_end": "2026-01-05T14:30:01Z", "minimum_ask": 191.18, "trades": 41,
                            "average_ask": 191.22}

A trade counts at the time it says, not when it arrives: `trade_time` is the timestamp extractor. It may be
two seconds late (`grace`). A table in windows tells each change; `suppress` keeps all but the last.

    python examples/stock_windows.py --bootstrap-servers 127.0.0.1:9092
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
    Suppressed,
    TimeWindows,
    Topology,
    Windowed,
    run,
)

TRADES, STATISTICS = "trades", "trade-windows"
WINDOWS = TimeWindows(size=timedelta(seconds=5), advance=timedelta(seconds=1), grace=timedelta(seconds=2))


def topology() -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=JsonSerde())
    (
        builder.stream(TRADES, timestamp_extractor=trade_time)
        .group_by_key()
        .windowed_by(WINDOWS)
        .aggregate(dict, add_trade, materialized=Materialized("statistics", value_serde=JsonSerde()))
        .suppress(Suppressed.until_window_closes())
        .to_stream()
        .map(statistics)
        .to(STATISTICS, key_serde=StringSerde())
    )
    return builder.build()


def trade_time(record: Any, partition_time: int) -> int:
    """Milliseconds; a negative time skips the record."""
    if not isinstance(record.value, dict) or "time" not in record.value:
        return -1
    return round(datetime.fromisoformat(record.value["time"]).timestamp() * 1000)


def add_trade(symbol: str, trade: dict[str, Any], so_far: dict[str, Any]) -> dict[str, Any]:
    ask = trade["ask"]
    return {
        "minimum": min(ask, so_far.get("minimum", ask)),
        "trades": so_far.get("trades", 0) + 1,
        "sum": so_far.get("sum", 0.0) + ask,
    }


def statistics(window: Windowed, gathered: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    value = {
        "symbol": window.key,
        "window_start": instant(window.start),
        "window_end": instant(window.end),
        "minimum_ask": gathered["minimum"],
        "trades": gathered["trades"],
        "average_ask": round(gathered["sum"] / gathered["trades"], 4),
    }
    return window.key, value


def instant(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def main() -> int:
    parser = argparse.ArgumentParser(description="Statistics of trades in hopping windows.")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--state-dir", help="where local state is kept")
    parser.add_argument("--master", default="local[*]", help="Spark's: this machine, or spark://host:port")
    options = parser.parse_args()
    application = Application(
        topology(), "stock-windows", options.bootstrap_servers, state_dir=options.state_dir
    )
    return run(application, topics={TRADES: {}, STATISTICS: {}}, partitions=4, master=options.master)


if __name__ == "__main__":
    sys.exit(main())
