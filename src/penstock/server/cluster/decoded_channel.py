"""The way to the active controller for callers that have fields, not bytes: the request is encoded on the way
there, and the answer is read on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.controller.channel import ControllerChannel
from penstock.coordinator.promise import Promise, mapped
from penstock.protocol.apis import Api
from penstock.protocol.messages import encode_request, read_response


class DecodedChannel:
    """Asks in fields."""

    def __init__(self, channel: ControllerChannel) -> None:
        self._channel = channel

    def ask(self, api: Api, version: int, fields: Mapping[str, Any]) -> Promise[Any]:
        answer = self._channel.ask(api, version, encode_request(api, version, fields))
        return mapped(answer, lambda body: read_response(api, version, body))
