"""`metrics()` as a mapping: Java's names for what this client counts and what librdkafka reports of
itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

INTERVAL_MS: Final = 5000


class LibraryStatistics:
    """The last report of librdkafka; read only when somebody asks."""

    def __init__(self) -> None:
        self._text = "{}"

    def take(self, text: str) -> None:
        self._text = text

    def metrics(self) -> dict[str, float]:
        report: dict[str, Any] = json.loads(self._text)
        brokers = list(report.get("brokers", {}).values())
        return {
            "outgoing-byte-total": report.get("tx_bytes", 0),
            "incoming-byte-total": report.get("rx_bytes", 0),
            "request-total": report.get("tx", 0),
            "response-total": report.get("rx", 0),
            "request-latency-avg": _average(brokers, "rtt"),
            "request-latency-max": max((each["rtt"]["max"] / 1000 for each in brokers), default=0.0),
            "connection-count": sum(each.get("state") == "UP" for each in brokers),
            "connection-creation-total": sum(each.get("connects", 0) for each in brokers),
            **_side(report, brokers),
        }


def _side(report: Mapping[str, Any], brokers: list[Mapping[str, Any]]) -> dict[str, float]:
    if report.get("type") == "producer":
        return {
            "record-queue-time-avg": _average(brokers, "int_latency"),
            "buffer-used-bytes": report.get("msg_size", 0),
            "buffer-total-bytes": report.get("msg_size_max", 0),
        }
    group = report.get("cgrp", {})
    lags = [
        partition["consumer_lag_stored"]
        for topic in report.get("topics", {}).values()
        for partition in topic["partitions"].values()
        if partition.get("consumer_lag_stored", -1) >= 0
    ]
    return {
        "records-lag-max": max(lags, default=0),
        "rebalance-total": group.get("rebalance_cnt", 0),
        "assigned-partitions": group.get("assignment_size", 0),
    }


def _average(brokers: Iterable[Mapping[str, Any]], window: str) -> float:
    """Over all brokers, in milliseconds; librdkafka counts microseconds."""
    total = count = 0
    for each in brokers:
        total += each[window]["sum"]
        count += each[window]["cnt"]
    return total / count / 1000 if count else 0.0
