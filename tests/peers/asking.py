"""The same request to two brokers, ours in the process and Apache's, and what both answer.

`Pair.same` gives the answer that both agree on. What a broker does a moment after its answer (Apache's
follows its own metadata so) is asked for again until both agree, or `PATIENCE_SECONDS` are over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

import pytest

from penstock.protocol import messages
from penstock.protocol.apis import Api
from penstock.testing import Broker
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline
from tests.peers.apache_kafka import ApacheKafka

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
PATIENCE_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 0.05
ASKED_SECONDS: Final = 20.0

_numbers = count()


class Asker:
    """A connection to one broker."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._connection = Connection(Address.parse(servers), Deadline(ASKED_SECONDS))

    def close(self) -> None:
        self._connection.close()

    def ask(self, api: Api, version: int, **fields: Any) -> Any:
        deadline = Deadline(ASKED_SECONDS)
        self._connection.send(api, version, [messages.encode_request(api, version, fields)], deadline)
        return messages.read_response(api, version, bytes(self._connection.receive(deadline)))

    def create(self, name: str, **configs: str | None) -> tuple[int, str | None, dict[str, Any]]:
        """Code, message, and of the settings that were given the value and the source."""
        given = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
        wish = {
            "name": name,
            "num_partitions": 1,
            "replication_factor": 1,
            "assignments": (),
            "configs": given,
        }
        answer = self.ask(Api.CREATE_TOPICS, 7, topics=[wish], timeout=10_000, validate_only=False).topics[0]
        names = {item["name"] for item in given}
        shown = {
            entry.name: (entry.value, entry.config_source)
            for entry in answer.configs or ()
            if entry.name in names
        }
        return int(answer.error_code), answer.error_message, shown

    def alter(self, kind: int, name: str, *changes: tuple[str, int, str | None]) -> tuple[int, str | None]:
        configs = [{"name": key, "config_operation": verb, "value": value} for key, verb, value in changes]
        resource = {"resource_type": kind, "resource_name": name, "configs": configs}
        answer = self.ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False)
        return int(answer.responses[0].error_code), answer.responses[0].error_message

    def describe(
        self, kind: int, name: str, keys: Sequence[str] | None = None
    ) -> tuple[int, str | None, Mapping[str, tuple[Any, ...]]]:
        """Code, message, and of each setting value, source, flags, type and synonyms."""
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        answer = self.ask(
            Api.DESCRIBE_CONFIGS, 4, resources=[resource], include_synonyms=True, include_documentation=False
        ).results[0]
        return (
            int(answer.error_code),
            answer.error_message,
            {entry.name: _entry(entry) for entry in answer.configs},
        )


def _entry(entry: Any) -> tuple[Any, ...]:
    synonyms = tuple((item.name, item.value, item.source) for item in entry.synonyms)
    return (
        entry.value,
        entry.config_source,
        entry.read_only,
        entry.is_sensitive,
        entry.config_type,
        synonyms,
    )


class Pair:
    """Our broker and Apache's."""

    def __init__(self, ours: Asker, theirs: Asker) -> None:
        self.ours, self.theirs = ours, theirs

    def same(self, ask: Callable[[Asker], Any]) -> Any:
        """What both answer at once."""
        theirs = ask(self.theirs)
        assert ask(self.ours) == theirs
        return theirs

    def same_soon(self, look: Callable[[Asker], Any]) -> Any:
        """What both answer in the end to a question that changes nothing."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            ours, theirs = look(self.ours), look(self.theirs)
            if ours == theirs or time.monotonic() > deadline:
                assert ours == theirs
                return theirs
            time.sleep(PAUSE_SECONDS)

    def new_topic(self, **configs: str) -> str:
        """A topic that both have, and have followed."""
        name = f"asked-{next(_numbers)}"
        assert self.same(lambda peer: peer.create(name, **configs))[0] == 0
        assert self.same_soon(lambda peer: peer.describe(TOPIC, name, ["preallocate"])[0]) == 0
        return name


@pytest.fixture(scope="session")
def pair(apache_kafka: ApacheKafka) -> Iterator[Pair]:
    with Broker() as broker:
        pair = Pair(Asker(broker.bootstrap_servers), Asker(apache_kafka.bootstrap_servers))
        yield pair
        pair.ours.close()
        pair.theirs.close()
