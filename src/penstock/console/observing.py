"""One look at everything that rules and pipelines are made of. Whatever does not answer is left out."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, TypeVar

from penstock.client.errors import ClientError
from penstock.console.alert_rules import Observations
from penstock.console.feed import Feed
from penstock.console.pipelines import Pipeline, pipelines
from penstock.console.services import Services

T = TypeVar("T")


async def observe(services: Services, max_age_s: float) -> Observations:
    """The looks run at the same time: a service that is slow holds up no other."""
    looks = (services.overview, services.groups, services.disks, services.traffic)
    await asyncio.gather(*(_fresh(feed, max_age_s) for feed in looks))
    found = await pipelines_now(services, max_age_s)
    return Observations(
        _known(services.overview),
        _known(services.groups),
        _known(services.disks),
        _known(services.traffic),
        found,
    )


async def pipelines_now(services: Services, max_age_s: float) -> list[Pipeline]:
    looks = (services.overview, services.groups, services.sql_state, services.connector_states,
             services.batches)  # fmt: skip
    await asyncio.gather(*(_fresh(feed, max_age_s) for feed in looks))
    return pipelines_read(services)


def pipelines_read(services: Services) -> list[Pipeline]:
    """By what the feeds have now."""
    sql, states = services.sql_state.reading, services.connector_states.reading
    return pipelines(
        services.overview.reading.value,
        services.groups.reading.value,
        sql.value if sql.error is None else None,
        (states.value or []) if states.error is None else [],
        services.connectors.used_topics,
        services.batches.reading.value or {},
    )


async def _fresh(feed: Feed[Any], max_age_s: float) -> None:
    with suppress(ClientError):
        await feed.current(max_age_s)


def _known(feed: Feed[T]) -> T | None:
    """None when it cannot be had now."""
    return feed.reading.value if feed.reading.error is None else None
