"""Pipelines by what the processes that run them publish for Prometheus: batches, phases, state, lag.

The SQL server and Connect are asked at their own address, other processes (Streams applications, mirrors,
sessions with queries of a person's own) where the console was told to look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from penstock.client.errors import ClientError
from penstock.console.feed import Feed
from penstock.console.prometheus import Sample, page_at, parse
from penstock.console.remotes import Remotes
from penstock.console.rest_service import RestService

POLL_S = 3.0
TIMEOUT_S = 3.0
WHOLE = "triggerExecution"
"""Spark's name of the whole of a batch."""
PRESSED = 1.1
"""A pipeline into which so many times more records come than it processes cannot keep up."""
_P = "penstock_pipeline_"
_FIELDS = {
    f"{_P}batches_total": "batches",
    f"{_P}repeated_batches_total": "repeated",
    f"{_P}input_records_total": "records",
    f"{_P}input_records_per_second": "input_rate",
    f"{_P}processed_records_per_second": "rate",
    f"{_P}watermark_timestamp_seconds": "watermark",
    f"{_P}last_batch_timestamp_seconds": "last_batch",
}


@dataclass(frozen=True, slots=True)
class BatchStats:
    """One pipeline in the process that runs it."""

    pipeline: str
    up: bool = False
    batches: float = 0
    repeated: float = 0
    """Attempts that failed and were made again."""
    records: float = 0
    input_rate: float | None = None
    rate: float | None = None
    """Records a second while the last batch ran."""
    watermark: float | None = None
    last_batch: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds of the last batch, by Spark's names."""
    state_bytes: float | None = None
    lags: tuple[tuple[str, int, int], ...] = ()
    """Topic, partition and offsets that are not processed yet."""

    @property
    def seconds(self) -> float | None:
        return self.phases.get(WHOLE)

    @property
    def is_pressed(self) -> bool:
        return self.up and bool(self.rate) and (self.input_rate or 0.0) > PRESSED * (self.rate or 0.0)


Batches = Mapping[str, BatchStats]


def batch_stats(samples: Iterable[Sample]) -> dict[str, BatchStats]:
    """By the name of the pipeline."""
    found: dict[str, BatchStats] = {}
    for sample in samples:
        name = sample.labels.get("pipeline") if sample.name.startswith(_P) else None
        if name is None:
            continue
        found[name] = _with(found.get(name, BatchStats(name)), sample)
    return found


def _with(stats: BatchStats, sample: Sample) -> BatchStats:
    labels, value = sample.labels, sample.value
    change: dict[str, Any] = {}
    match sample.name.removeprefix(_P):
        case "up":
            change = {"up": value > 0}
        case "phase_seconds":
            change = {"phases": {**stats.phases, labels["phase"]: value}}
        case "state_bytes":
            change = {"state_bytes": (stats.state_bytes or 0.0) + value}
        case "lag_records":
            change = {"lags": (*stats.lags, (labels["topic"], int(labels["partition"]), int(value)))}
        case _ if sample.name in _FIELDS:
            change = {_FIELDS[sample.name]: value}
    return replace(stats, **change)


def batches_feed(remotes: Remotes, interval_s: float = POLL_S) -> Feed[Batches]:
    async def fetch() -> Batches:
        async with httpx.AsyncClient(
            timeout=TIMEOUT_S, transport=remotes.transport, trust_env=False
        ) as client:
            pages = await asyncio.gather(
                *(_service_page(service) for service in (remotes.sql, remotes.connect)),
                *(page_at(client, url) for url in remotes.pipelines),
            )
        found: dict[str, BatchStats] = {}
        for page in pages:
            for name, stats in batch_stats(parse(page)).items():
                if stats.up or name not in found:  # an instance that stands by says less
                    found[name] = stats
        return found

    return Feed(fetch, interval_s)


async def _service_page(service: RestService) -> str:
    with suppress(ClientError):
        page = await service.ask("GET", "metrics")
        return page if isinstance(page, str) else ""
    return ""
