"""The signature of a handler says what it may touch of the broker."""

from __future__ import annotations

import inspect

from penstock.handlers import parts
from penstock.handlers.apis import envelope
from penstock.handlers.controller_table import CONTROLLER_HANDLERS
from penstock.handlers.table import HANDLERS

TAKES_THE_WHOLE_BROKER = {envelope.__name__}  # it hands the request inside to any other handler


def test_every_handler_asks_for_the_parts_of_its_family_and_not_for_the_whole_broker() -> None:
    offences = {
        getattr(handler, "__name__", type(handler).__name__)
        for handler in (*HANDLERS.values(), *CONTROLLER_HANDLERS.values())
        if not hasattr(parts, inspect.signature(handler.handle).parameters["broker"].annotation)
    }
    assert offences == TAKES_THE_WHOLE_BROKER
