"""Stock-market statistics: five-second windows every second, per symbol, by Spark, from topic to topic.

A generator writes trades to the topic `trades`, keyed by symbol. A Spark query reads them and, for each
window, writes minimum ask, number of trades and average ask to the topic `trade-statistics`, once it is over:

    trades            AAPL  {"symbol": "AAPL", "ask": 191.24, "size": 300, "time": "2026-01-05T14:30:00.123Z"}
    trade-statistics  AAPL  {"symbol": "AAPL", "window_start": "2026-01-05T14:29:56Z",
                             "window_end": "2026-01-05T14:30:01Z", "minimum_ask": 191.18, "trades": 41,
                             "average_ask": 191.22}

    python examples/stock_statistics.py --bootstrap-servers 127.0.0.1:9092 --data .data/stock_statistics

It prints a line that begins with `ready` when the first statistics are out. Ctrl-C and SIGTERM end it
cleanly; started again with the same --data, the query goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException, Producer

from penstock.client.admin import Admin
from penstock.client.errors import ClientError, TopicExists
from penstock.spark import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

TRADES, STATISTICS = "trades", "trade-statistics"
PARTITIONS = 4
PRICES = {"AAPL": 191.0, "AMZN": 178.0, "GOOG": 152.0, "MSFT": 415.0, "NVDA": 880.0, "TSLA": 172.0}
TRADE_SCHEMA = "symbol STRING, ask DOUBLE, size INT, time TIMESTAMP"
LATEST_ARRIVAL = "2 seconds"
"""How late a trade may come. A window is complete, and written, this long after it has ended."""
FIRST_STATISTICS_WITHIN_S = 240
SPARK = {
    "spark.sql.shuffle.partitions": 2,
    # A few hundred rows a second need no code compiled twice over: without it the first statistics come after
    # 16 seconds of the JVM's work instead of 27.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


class Trades(threading.Thread):
    """Writes trades at a steady rate until it is stopped. What went wrong is in `failure`."""

    def __init__(self, bootstrap_servers: str, rate: float, seed: int | None) -> None:
        super().__init__(name="trades", daemon=True)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 20,
            }
        )
        self._rate = rate
        self._random = random.Random(seed)
        self._prices = dict(PRICES)
        self._stopped = threading.Event()
        self.failure: str | None = None

    def run(self) -> None:
        began, sent = time.monotonic(), 0
        while not self._stopped.wait(max(0.0, began + sent / self._rate - time.monotonic())):
            self._send(self._next_trade())
            sent += 1

    def stop(self) -> None:
        self._stopped.set()
        self.join(5)
        self._producer.flush(5)

    def _next_trade(self) -> dict[str, Any]:
        symbol = self._random.choice(sorted(self._prices))
        self._prices[symbol] *= 1 + self._random.gauss(0, 0.0005)
        ask, size = round(self._prices[symbol], 2), 100 * self._random.randint(1, 20)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"symbol": symbol, "ask": ask, "size": size, "time": now}

    def _send(self, trade: dict[str, Any]) -> None:
        try:
            self._producer.produce(
                TRADES, key=trade["symbol"], value=json.dumps(trade), on_delivery=self._delivered
            )
        except BufferError:  # the broker is slower than the rate: wait for it, and skip this trade
            self._producer.poll(0.5)
        self._producer.poll(0)

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None:
            self.failure = f"a trade could not be written: {error.str()}"


def statistics(trades: DataFrame) -> DataFrame:
    """Key and value of the statistics, from the key and value of the trades."""
    from pyspark.sql import functions as f

    parsed = trades.select(f.from_json(f.col("value").cast("string"), TRADE_SCHEMA).alias("trade"))
    windows = (
        parsed.select("trade.*")
        .withWatermark("time", LATEST_ARRIVAL)
        .groupBy(f.window("time", "5 seconds", "1 second"), "symbol")
        .agg(f.min("ask").alias("minimum"), f.count("*").alias("trades"), f.avg("ask").alias("average"))
    )
    instant = "yyyy-MM-dd'T'HH:mm:ss'Z'"
    value = f.struct(
        "symbol",
        f.date_format("window.start", instant).alias("window_start"),
        f.date_format("window.end", instant).alias("window_end"),
        f.col("minimum").alias("minimum_ask"),
        "trades",
        f.round("average", 4).alias("average_ask"),
    )
    return windows.select(f.col("symbol").alias("key"), f.to_json(value).alias("value"))


def start_query(spark: SparkSession, bootstrap_servers: str, checkpoint: Path) -> StreamingQuery:
    """The running query, from topic to topic."""
    trades = (
        spark.readStream.format("penstock")
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("subscribe", TRADES)
        .option("startingOffsets", "earliest")
        .load()
    )
    return (
        statistics(trades)
        .writeStream.format("penstock")
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("topic", STATISTICS)
        .option("checkpointLocation", str(checkpoint.resolve()))
        .outputMode("append")
        .trigger(processingTime="1 second")
        .start()
    )


def create_topics(admin: Admin) -> None:
    """Both topics, unless they are there from an earlier run."""
    for name, partitions in ((TRADES, PARTITIONS), (STATISTICS, 1)):
        try:
            admin.create_topic(name, partitions)
        except TopicExists:
            continue


def written(admin: Admin) -> int:
    """How many statistics there are."""
    return sum(admin.end_offsets([(STATISTICS, 0)]).values())


def watch(query: StreamingQuery, trades: Trades, admin: Admin, stop: threading.Event) -> str | None:
    """Waits until it is time to stop, and says when the first statistics are out. Returns what went wrong."""
    before, deadline, ready = written(admin), time.monotonic() + FIRST_STATISTICS_WITHIN_S, False
    while not stop.wait(0.25):
        if trades.failure is not None:
            return trades.failure
        if not query.isActive:
            # Spark's message goes on with the whole plan of the query.
            return f"the query has ended: {str(query.exception()).partition('=== Streaming')[0].strip()}"
        if not ready and written(admin) > before:
            ready = True
            print(f"ready {TRADES} -> {STATISTICS}", flush=True)
        if not ready and time.monotonic() > deadline:
            return f"no statistics came within {FIRST_STATISTICS_WITHIN_S} s"
    return None


def run(options: argparse.Namespace, stop: threading.Event) -> str | None:
    """Everything from start to stop; returns what went wrong."""
    admin = Admin(options.bootstrap_servers)
    create_topics(admin)
    trades = Trades(options.bootstrap_servers, options.rate, options.seed)
    trades.start()
    spark = session("stock_statistics", **SPARK)
    try:
        # Spark has put a handler of its own on SIGINT; one that only notes the wish comes back.
        signal.signal(signal.SIGINT, lambda *_: stop.set())
        query = start_query(spark, options.bootstrap_servers, options.data / "checkpoint")
        failure = watch(query, trades, admin, stop)
        trades.stop()
        query.stop()
        return failure
    finally:
        spark.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description="Stock-market statistics on Spark.")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument(
        "--data", type=Path, default=Path(".data/stock_statistics"), help="for the checkpoint"
    )
    parser.add_argument("--rate", type=float, default=50.0, help="trades a second")
    parser.add_argument("--seed", type=int, help="makes the walk of the prices repeatable")
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        failure = run(options, stop)
    except (ClientError, KafkaException) as error:
        failure = str(error)
    if failure is not None:
        print(f"stock_statistics: {failure}", file=sys.stderr)
    return 0 if failure is None else 1


if __name__ == "__main__":
    sys.exit(main())
