"""What every page and every API call shares: the backend, the one feed of the cluster, the tails. Made by
`app`.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.console.backend import Backend
from penstock.console.feed import Feed
from penstock.console.overview import POLL_S, Overview, overview_feed
from penstock.console.tails import TICK_S, Tails


@dataclass(frozen=True, slots=True)
class Services:
    backend: Backend
    overview: Feed[Overview]
    tails: Tails
    title: str

    @classmethod
    def over(
        cls, backend: Backend, title: str = "Penstock", *, poll_s: float = POLL_S, tick_s: float = TICK_S
    ) -> Services:
        return cls(backend, overview_feed(backend, poll_s), Tails(backend, tick_s=tick_s), title)

    async def close(self) -> None:
        await self.tails.close()
        await self.overview.close()
        await self.backend.close()
