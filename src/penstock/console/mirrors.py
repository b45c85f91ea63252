"""The flows of running mirrors, as they publish them at `/flows`: states, lag, rates and errors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.client.errors import ClientError
from penstock.console.rest_service import RestService, ServiceRefused

LATE_S = 60.0


@dataclass(frozen=True, slots=True)
class MirroredPartition:
    topic: str
    partition: int
    lag_records: int
    lag_seconds: float
    records_per_second: float
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class MirrorFlow:
    """One direction between two clusters."""

    source: str
    target: str
    state: str
    lag_records: int
    lag_seconds: float
    records_per_second: float
    bytes_per_second: float
    errors: Mapping[str, int]
    """Failures since the mirror was started, by what was being done."""
    partitions: tuple[MirroredPartition, ...]
    url: str
    """Where the mirror listens."""

    @property
    def name(self) -> str:
        return f"{self.source}→{self.target}"

    @property
    def tone(self) -> str:
        if self.state == "failing":
            return "bad"
        late = self.lag_records > 0 and self.lag_seconds > LATE_S
        return "warn" if late or self.state in ("starting", "stopped") else "good"


class Mirrors:
    """Asks all mirrors that the console knows of. One that is away takes nothing from the others."""

    def __init__(self, services: Sequence[RestService]) -> None:
        self._services = services

    async def flows(self) -> list[MirrorFlow]:
        """ClientError when no mirror answers."""
        answers = await asyncio.gather(*map(_flows, self._services), return_exceptions=True)
        found = [flow for answer in answers if isinstance(answer, list) for flow in answer]
        errors = [answer for answer in answers if isinstance(answer, BaseException)]
        for error in errors:
            if not isinstance(error, ClientError):
                raise error
        if errors and len(errors) == len(answers):
            raise errors[0]
        return sorted(found, key=lambda flow: (flow.source, flow.target, flow.url))


async def _flows(service: RestService) -> list[MirrorFlow]:
    answer = await service.ask("GET", "flows")
    try:
        return [_flow(each, service.url) for each in answer]
    except (KeyError, TypeError, ValueError) as error:
        raise ServiceRefused(service.about.name, 502, 0, f"no flows at {service.url}: {error!r}") from error


def _flow(shown: Mapping[str, Any], url: str) -> MirrorFlow:
    rows = tuple(
        MirroredPartition(str(row["topic"]), int(row["partition"]), *_numbers(row))
        for row in shown["partitions"]
    )
    errors = {str(duty): int(count) for duty, count in shown["errors"].items()}
    source, target, state = str(shown["source"]), str(shown["target"]), str(shown["state"])
    return MirrorFlow(source, target, state, *_numbers(shown), errors, rows, url)


def _numbers(shown: Mapping[str, Any]) -> tuple[int, float, float, float]:
    return (
        int(shown["lag_records"]),
        float(shown["lag_seconds"]),
        float(shown["records_per_second"]),
        float(shown["bytes_per_second"]),
    )
