"""Members of a consumer group of a simulated cluster, by the classic protocol: they share partitions, commit
ever higher offsets, and join again whenever something is not as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from penstock.groups.embedded import decode_assignment, encode_assignment
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.testing.history.events import (
    Assign,
    CommitOffsets,
    Done,
    FetchOffsets,
    Offsets,
    Partition,
    Revoke,
)
from penstock.testing.history.recorder import Recorder
from penstock.testing.simulation.cluster.coordinator_client import GROUP, PASSING, CoordinatorClient
from penstock.testing.simulation.cluster.metadata import ClusterClient
from penstock.wire.membership import encode_subscription

GROUP_ID: Final = "group"
SESSION_MS: Final = 1_500
JOIN_MS: Final = 5_000.0
PAUSE_MS: Final = 80.0
NO_OFFSET: Final = -1
ELSEWHERE: Final = frozenset(
    {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID}
)
"""The group has gone on without this member."""


class Member:
    """After a commit without an answer it joins with other words, which begins another generation: a request
    that arrives late is refused then."""

    def __init__(self, client: ClusterClient, recorder: Recorder, places: Sequence[Partition]) -> None:
        self.commits = 0
        self.idle = False
        self._client = client
        self._recorder = recorder
        self._places = {place.number: place for place in places}
        self._coordinator = CoordinatorClient(client, GROUP, GROUP_ID)
        self._member_id = ""
        self._generation = -1
        self._joins = 0
        self._positions: dict[Partition, int] = {}
        self._stopped = False
        self._later(self._join)

    def stop(self) -> None:
        self._stopped = True

    def cut(self) -> None:
        self._client.cut()

    def _later(self, step: Callable[[], None]) -> None:
        self._client.later(step, PAUSE_MS)

    def _identity(self) -> dict[str, Any]:
        return {"group_id": GROUP_ID, "member_id": self._member_id, "group_instance_id": None}

    # Becoming a member

    def _join_again(self) -> None:
        for place in self._positions:
            self._recorder.fact(self._client.name, Revoke(place))
        self._positions = {}
        self._later(self._join)

    def _join(self) -> None:
        if self._stopped:
            self.idle = True
            return
        self._joins += 1
        topic = next(iter(self._places.values())).topic
        subscription = encode_subscription([topic], str(self._joins).encode())
        fields = {
            **self._identity(),
            "session_timeout": SESSION_MS,
            "rebalance_timeout": SESSION_MS,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription}],
            "reason": None,
        }
        self._coordinator.call(Api.JOIN_GROUP, 9, fields, self._joined, self._join_again, JOIN_MS)

    def _joined(self, response: Any) -> None:
        code = ErrorCode(int(response.error_code))
        if code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self._member_id = str(response.member_id)
        if code is ErrorCode.NONE:
            self._generation = int(response.generation_id)
            leads = response.leader == self._member_id
            self._sync([str(member.member_id) for member in response.members] if leads else [])
        else:
            self._refused(code)

    def _refused(self, code: ErrorCode) -> None:
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        elif code in PASSING or code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            # The latter is told by a broker that has just begun, and knows nothing yet.
            self._coordinator.forget()
        elif code not in ELSEWHERE and code is not ErrorCode.MEMBER_ID_REQUIRED:
            raise AssertionError(f"a member was refused: {self._client.name}: {code.name}")
        self._join_again()

    def _sync(self, members: list[str]) -> None:
        shares: dict[str, list[int]] = {member: [] for member in sorted(members)}
        for turn, number in enumerate(sorted(self._places) if shares else ()):
            shares[sorted(shares)[turn % len(shares)]].append(number)
        topic = next(iter(self._places.values())).topic
        fields = {
            **self._identity(),
            "generation_id": self._generation,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [
                {"member_id": member, "assignment": encode_assignment({topic: tuple(numbers)}, 1)}
                for member, numbers in shares.items()
            ],
        }
        self._coordinator.call(Api.SYNC_GROUP, 5, fields, self._synced, self._join_again, JOIN_MS)

    def _synced(self, response: Any) -> None:
        code = ErrorCode(int(response.error_code))
        if code is not ErrorCode.NONE:
            self._refused(code)
            return
        given: Mapping[str, tuple[int, ...]] = decode_assignment(bytes(response.assignment))
        self._positions = {self._places[number]: 0 for numbers in given.values() for number in numbers}
        for place in self._positions:
            fact = Assign(place, group=GROUP_ID, generation=self._generation)
            self._recorder.fact(self._client.name, fact)
        self._look()

    def _look(self) -> None:
        """Where the group stands, before anything is committed."""
        operation = self._recorder.invoke(self._client.name, FetchOffsets(GROUP_ID))

        def found(code: ErrorCode, offsets: dict[Partition, int]) -> None:
            if code is not ErrorCode.NONE:
                self._recorder.fail(operation, code.name)
                self._refused(code)
                return
            told = {place: max(0, offsets.get(place, NO_OFFSET)) for place in self._positions}
            self._recorder.ok(operation, Offsets(tuple(told.items())))
            self._positions = told
            self._later(self._work)

        def lost() -> None:
            self._recorder.fail(operation, "no answer")
            self._join_again()

        fetch_offsets(self._coordinator, self._places, found, lost)

    # Being one

    def _work(self) -> None:
        if self._stopped:
            self.idle = True
        elif self._positions and self._client.random.random() < 0.7:
            self._commit()
        else:
            self._beat()

    def _beat(self) -> None:
        fields = {**self._identity(), "generation_id": self._generation}

        def answered(response: Any) -> None:
            code = ErrorCode(int(response.error_code))
            if code is ErrorCode.NONE:
                self._later(self._work)
            else:
                self._refused(code)

        self._coordinator.call(Api.HEARTBEAT, 4, fields, answered, self._join_again)

    def _commit(self) -> None:
        random = self._client.random
        wanted = {place: offset + random.randint(1, 5) for place, offset in self._positions.items()}
        operation = self._recorder.invoke(self._client.name, CommitOffsets(GROUP_ID, tuple(wanted.items())))
        topic = next(iter(wanted)).topic
        partitions = [
            {
                "partition_index": place.number,
                "committed_offset": offset,
                "committed_leader_epoch": -1,
                "committed_metadata": "",
            }
            for place, offset in wanted.items()
        ]
        fields = {
            **self._identity(),
            "generation_id_or_member_epoch": self._generation,
            "topics": [{"name": topic, "partitions": partitions}],
        }

        def answered(response: Any) -> None:
            codes = {ErrorCode(int(part.error_code)) for part in response.topics[0].partitions}
            if codes == {ErrorCode.NONE}:
                self._recorder.ok(operation, Done())
                self.commits += 1
                self._positions = wanted
                self._later(self._work)
            else:
                self._recorder.info(operation, str(sorted(codes)))
                self._refused(max(codes))

        def lost() -> None:
            self._recorder.info(operation, "no answer")
            self._join_again()

        self._coordinator.call(Api.OFFSET_COMMIT, 8, fields, answered, lost)


def fetch_offsets(
    coordinator: CoordinatorClient,
    places: Mapping[int, Partition],
    found: Callable[[ErrorCode, dict[Partition, int]], None],
    lost: Callable[[], None],
) -> None:
    """What the group has committed, by partition; -1 where there is nothing."""
    topics = [{"name": place.topic, "partition_indexes": [number]} for number, place in places.items()]
    group = {"group_id": GROUP_ID, "topics": topics}

    def answered(response: Any) -> None:
        (told,) = response.groups
        parts = [part for topic in told.topics for part in topic.partitions]
        codes = {ErrorCode(int(told.error_code)), *(ErrorCode(int(part.error_code)) for part in parts)}
        found(max(codes), {places[part.partition_index]: int(part.committed_offset) for part in parts})

    coordinator.call(Api.OFFSET_FETCH, 8, {"groups": [group], "require_stable": True}, answered, lost)
