"""Pages for Prometheus, read: samples by name, and what the console shows of a broker's. Pure, but for
`page_at`, which gets a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite

import httpx

_SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
PAGE_BYTES_MAX = 8 * 1024 * 1024
_REQUEST = "kafka_network_requestmetrics_"
_TOPIC = "kafka_server_brokertopicmetrics_"
QUANTILES = {"0.5": "median", "0.99": "p99"}


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class RequestTimes:
    """One API of one broker."""

    count: float = 0.0
    median_ms: float | None = None
    p99_ms: float | None = None


@dataclass(frozen=True, slots=True)
class BrokerMetrics:
    url: str
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    messages_in: float = 0.0
    failed: float = 0.0
    """Appends and reads that were refused."""
    connections: float | None = None
    cpu_seconds: float | None = None
    memory_bytes: float | None = None
    requests: Mapping[str, RequestTimes] = field(default_factory=dict)


async def page_at(client: httpx.AsyncClient, url: str) -> str:
    """Empty where nothing answers, or too much."""
    try:
        answer = await client.get(url)
    except httpx.HTTPError:
        return ""
    return answer.text if answer.is_success and len(answer.content) <= PAGE_BYTES_MAX else ""


def parse(page: str) -> Iterable[Sample]:
    for line in page.splitlines():
        found = _SAMPLE.match(line) if line and line[0] != "#" else None
        if found is None:
            continue
        labels = {name: value.replace('\\"', '"') for name, value in _LABEL.findall(found[2] or "")}
        try:
            value = float(found[3])
        except ValueError:
            continue
        if isfinite(value):  # a quantile of nothing is NaN
            yield Sample(found[1], labels, value)


def broker_metrics(url: str, page: str) -> BrokerMetrics:
    samples = list(parse(page))
    whole = {sample.name: sample.value for sample in samples if not sample.labels}
    return BrokerMetrics(
        url,
        whole.get(f"{_TOPIC}bytesinpersec_count", 0.0),
        whole.get(f"{_TOPIC}bytesoutpersec_count", 0.0),
        whole.get(f"{_TOPIC}messagesinpersec_count", 0.0),
        whole.get(f"{_TOPIC}failedproducerequestspersec_count", 0.0)
        + whole.get(f"{_TOPIC}failedfetchrequestspersec_count", 0.0),
        whole.get("kafka_server_socket_server_metrics_connection_count"),
        whole.get("process_cpu_seconds_total"),
        whole.get("process_resident_memory_bytes"),
        _requests(samples),
    )


def _requests(samples: Iterable[Sample]) -> dict[str, RequestTimes]:
    found: dict[str, dict[str, float]] = {}
    for sample in samples:
        api = sample.labels.get("request")
        if api is None:
            continue
        if sample.name == f"{_REQUEST}requestspersec_count":
            found.setdefault(api, {})["count"] = sample.value
        elif sample.name == f"{_REQUEST}totaltimems" and sample.labels.get("quantile") in QUANTILES:
            found.setdefault(api, {})[QUANTILES[sample.labels["quantile"]]] = sample.value
    return {
        api: RequestTimes(each["count"], each.get("median"), each.get("p99"))
        for api, each in found.items()
        if each.get("count")
    }
