"""A single frame on its way through the proxy: what it is, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from penstock.protocol import messages
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.header import read_request_header


class Way(StrEnum):
    TO_BROKER = "to the broker"
    TO_CLIENT = "to the client"


@dataclass(frozen=True, slots=True)
class Frame:
    """A request, or the response to one. `payload` is everything behind the length."""

    way: Way
    connection: int
    """Counts the connections of one proxy from 1."""
    api: int
    """The key; an `Api` where it is known here, and passed on all the same where it is not."""
    version: int
    correlation_id: int
    payload: bytes

    def message(self) -> Any:
        """The typed message of kio, for predicates and for tests to look into."""
        if self.way is Way.TO_BROKER:
            _, reader = read_request_header(memoryview(self.payload))
            return messages.read_request(Api(self.api), self.version, reader)
        return messages.read_response(Api(self.api), self.version, self.payload[self.body_position :])

    @property
    def body_position(self) -> int:
        """Where the body of a response begins: behind the correlation id and, in flexible versions, the tags;
        brokers write none there."""
        api = Api(self.api)
        return 5 if is_flexible(api, self.version) and api is not Api.API_VERSIONS else 4

    def __str__(self) -> str:
        name = self.api.name if isinstance(self.api, Api) else f"API {self.api}"
        return f"{name} v{self.version} number {self.correlation_id} {self.way}"
