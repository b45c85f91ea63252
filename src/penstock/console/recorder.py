"""`Recorder`: looks at the feeds every few seconds, whether or not a page is open, keeps the last hour, and
judges the rules of alerts.

One task of the process. It uses what the feeds have when that is fresh, so open pages and the recorder share
one poll. Whatever fails leaves a gap.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from penstock.client.errors import ClientError
from penstock.console.alert_rules import Observations
from penstock.console.observing import observe
from penstock.console.services import Services

log = logging.getLogger(__name__)

INTERVAL_S = 10.0
GROUPS_MAX = 500
TOPICS_MAX = 1_000
PIPELINES_MAX = 100


class Recorder:
    def __init__(self, services: Services, interval_s: float = INTERVAL_S) -> None:
        self._services = services
        self._interval_s = interval_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> None:
        services = self._services
        seen = await observe(services, self._interval_s)
        services.history.add(time.time(), measured(seen))
        with suppress(ClientError):  # the page of alerts says why they cannot be kept
            await services.alerts.step(seen, time.time())

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:  # the next look is as good as this one would have been
                log.exception("a look at the cluster failed")
            await asyncio.sleep(self._interval_s)


def measured(seen: Observations) -> dict[str, float | None]:
    """Values by the names under which the charts ask for them."""
    overview, groups, traffic = seen.overview, seen.groups, seen.traffic
    values: dict[str, float | None] = {}
    if overview is not None:
        rates = [topic.records_per_second for topic in overview.topics]
        values["records/s"] = sum(rate for rate in rates if rate is not None)
        for topic in overview.topics[:TOPICS_MAX]:
            values[f"topic {topic.name} records/s"] = topic.records_per_second
    if seen.disks is not None:
        sizes = sorted(seen.disks.topic_sizes().items())
        values |= {f"topic {name} bytes": size for name, size in sizes[:TOPICS_MAX]}
    if groups is not None:
        for group in groups.groups[:GROUPS_MAX]:
            values[f"group {group.info.group_id} lag"] = group.lag
            behind = group.behind
            values[f"group {group.info.group_id} seconds"] = None if behind is None else behind.seconds
    for pipeline in (seen.pipelines or ())[:PIPELINES_MAX]:
        if pipeline.batches is not None:
            values[f"pipeline {pipeline.name} seconds"] = pipeline.batches.seconds
            values[f"pipeline {pipeline.name} rate"] = pipeline.batches.rate
            values[f"pipeline {pipeline.name} input"] = pipeline.batches.input_rate
    if traffic is not None and traffic.answering:
        values["bytes in"], values["bytes out"] = traffic.bytes_in, traffic.bytes_out
        for api in ("Produce", "Fetch"):
            stats = traffic.api(api)
            values[f"{api} p99"] = None if stats is None else stats.p99_ms
    return values
