"""The broker that coordinates a group or a transactional id: found once, found anew when it has moved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final, TypeVar

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.wire.cluster import REQUEST_SECONDS, Cluster
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline, retrying
from penstock.wire.errors import Refused, WireError, error_code

T = TypeVar("T")

_VERSIONS: Final = (1, 3)  # 4 and later ask for many keys at once
# The coordinator is the right one and asks for patience.
_STAYS: Final = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.UNSTABLE_OFFSET_COMMIT)


class Kind(IntEnum):
    """What is coordinated; the numbers are Kafka's."""

    GROUP = 0
    TRANSACTION = 1


class Coordinator:
    """For one thread. `ask` repeats a request until it is answered for good, wherever the coordinator is."""

    def __init__(self, cluster: Cluster, kind: Kind, key: str) -> None:
        self._cluster = cluster
        self._kind = kind
        self._key = key
        self._address: Address | None = None
        self.node_id = -1
        """The broker that was asked last."""

    def ask(self, what: str, request: Callable[[Connection], T], deadline: Deadline) -> T:
        """The result of `request`, which raises `Refused` for an error code; `what` names it."""

        def attempt() -> T:
            if self._address is None:
                self._address = self._find(deadline)
            with self._cluster.connection_to(self._address, deadline) as connection:
                return request(connection)

        return retrying(deadline, f"{what} at {self._cluster.bootstrap_servers}", attempt, self._look_anew)

    def _look_anew(self, error: WireError) -> None:
        if not (isinstance(error, Refused) and error.code in _STAYS):
            self._address = None

    def _find(self, deadline: Deadline) -> Address:
        fields = {"key": self._key, "key_type": int(self._kind)}
        with self._cluster.any_connection(deadline) as connection:
            answer = call(connection, Api.FIND_COORDINATOR, fields, _VERSIONS, deadline)
        code = error_code(answer.error_code)
        if code is not ErrorCode.NONE:
            said = f" ({answer.error_message})" if answer.error_message else ""
            raise Refused(
                code, f"no coordinator for {self._kind.name.lower()} {self._key!r}: {code.name}{said}"
            )
        self.node_id = answer.node_id
        return Address(answer.host, answer.port)


def call(
    connection: Connection,
    api: Api,
    fields: Mapping[str, Any],
    versions: tuple[int, int],
    deadline: Deadline,
) -> Any:
    """One request of a coordinator, in one of the versions that we speak."""
    limit = deadline.sooner(REQUEST_SECONDS)
    return connection.call(api, fields, limit, oldest=versions[0], newest=versions[1])
