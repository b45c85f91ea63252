"""A run of a whole cluster with transactions and a group: `run.py` with other clients. Coordinators move with
the partitions of their topics, markers go to leaders on other brokers, and all read what is committed."""

from __future__ import annotations

from typing import Final

from penstock.groups.coordinator import OFFSETS_TOPIC
from penstock.protocol.errors import ErrorCode
from penstock.testing.history.events import CommittedOffset, Isolation, Partition
from penstock.testing.simulation.cluster.clients import Consumer
from penstock.testing.simulation.cluster.coordinator_client import GROUP, CoordinatorClient
from penstock.testing.simulation.cluster.members import GROUP_ID, Member, fetch_offsets
from penstock.testing.simulation.cluster.producers import Producer
from penstock.testing.simulation.cluster.run import PEACE_MS, TOPIC, ClusterRun
from penstock.testing.simulation.cluster.transactional import TransactionalProducer
from penstock.transactions.coordinator import TRANSACTIONS_TOPIC

IDS: Final = {"classic": False, "second": True}
"""Transactional ids, and whether their producers speak transaction version 2."""
MEMBERS: Final = 2
TAKEOVERS: Final = 0.4  # of the faults of clients


class CoordinatedRun(ClusterRun):
    """`acked` of its outcome are records, and transactions."""

    topics = (TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
    isolation = Isolation.READ_COMMITTED

    @property
    def counts(self) -> dict[str, int]:
        """What clients have done, for people to read."""
        return {
            "transactions": sum(writer.acked for writer in self._writers),
            "takeovers": len(self._writers) - len(IDS),
            "commits": sum(member.commits for member in self._members),
        }

    def _begin_load(self) -> None:
        self._writers: list[TransactionalProducer] = []
        self._producers.append(Producer(self._client("p0", self._places[0]), self._recorder))
        self._consumers += [
            Consumer(self._client(f"c{place.number}", place), self._recorder, self.isolation)
            for place in self._places
        ]
        self._members = [
            Member(self._client(f"m{number}", self._places[0]), self._recorder, self._places)
            for number in range(MEMBERS)
        ]
        self._clients = [*self._producers, *self._consumers, *self._members]
        for transactional_id in IDS:
            self._appear(transactional_id)

    def _appear(self, transactional_id: str) -> None:
        """A producer under this id; who was there before does not know yet."""
        for writer in self._writers:
            if writer.name.startswith(transactional_id):
                writer.replaced = True
        name = f"{transactional_id}.{len(self._writers)}"
        clients = [self._client(name, place) for place in self._places]
        writer = TransactionalProducer(
            clients,
            self._recorder,
            transactional_id,
            second=IDS[transactional_id],
            at_an_end=self._faults.at_an_end,
        )
        self._writers.append(writer)
        self._producers.append(writer)
        self._clients.append(writer)

    def _cut_client(self) -> None:
        if self._world.random.random() < TAKEOVERS:
            self._appear(self._world.random.choice(sorted(IDS)))
        else:
            super()._cut_client()

    def _make_peace(self) -> None:
        for member in self._members:
            member.stop()
        super()._make_peace()
        idle = lambda: all(member.idle for member in self._members)  # noqa: E731 (one word of a sentence)
        self._until(idle, PEACE_MS, "a member has not been answered")

    def _committed(self) -> list[CommittedOffset]:
        """Where the group stands at the end, by somebody who is no member."""
        places = {place.number: place for place in self._places}
        client = self._client("looker", self._places[0])
        coordinator = CoordinatorClient(client, GROUP, GROUP_ID)
        told: dict[Partition, int] = {}

        def found(code: ErrorCode, offsets: dict[Partition, int]) -> None:
            if code is ErrorCode.NONE:
                told.update(offsets)
            else:
                again()

        def ask() -> None:
            fetch_offsets(coordinator, places, found, again)

        def again() -> None:
            coordinator.forget()
            client.later(ask)

        ask()
        self._until(lambda: bool(told), PEACE_MS, "nobody says what the group has committed")
        return [CommittedOffset(GROUP_ID, place, offset) for place, offset in told.items() if offset >= 0]
