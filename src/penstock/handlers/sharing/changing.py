"""Changes of the place of an empty share group: first the states are changed, then what the group knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.coordinator.promise import Promise
from penstock.groups.share_records import StateTopic
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import outcome
from penstock.protocol.errors import KafkaError
from penstock.share.state import SharePartitionKey

Topics = dict[bytes, StateTopic]
Changed = dict[SharePartitionKey, KafkaError | None]
"""What became of each state: None, or why it was not changed."""


class Change:
    """One request, step by step, as its promises are kept. `change` begins the change of the states, given
    the topics that the group has read; `finish` says, given what became of them, which topics it has read
    from then on. None as that means that the group goes."""

    def __init__(
        self,
        broker: ShareDataParts,
        group_id: str,
        topics: Promise[Topics],
        change: Callable[[Topics], Mapping[SharePartitionKey, Promise[Any]]],
        finish: Callable[[Topics, Changed], Topics | None],
    ) -> None:
        self._broker = broker
        self._group_id = group_id
        self._topics = topics
        self._change = change
        self._finish = finish
        self._asked: list[tuple[SharePartitionKey, Promise[Any]]] | None = None
        self._changed: Changed = {}
        self._noted: Promise[None] | None = None
        self._promise: Promise[Changed] = Promise()

    def begin(self) -> Promise[Changed]:
        self._topics.watch(self)
        return self._promise

    def wake(self) -> None:
        try:
            self._go_on()
        except KafkaError as error:
            self._promise.fail(error)

    def _go_on(self) -> None:
        known = self._topics.result()
        if self._asked is None:
            self._asked = list(self._change(known).items())
        for key, promise in self._asked[len(self._changed) :]:
            if not promise.done:
                promise.watch(self)
                return
            self._changed[key] = _error(promise)
        if self._noted is None:
            self._noted = self._note(self._finish(known, self._changed))
            self._noted.watch(self)
        elif self._noted.done:
            self._noted.result()
            self._promise.complete(self._changed)

    def _note(self, left: Topics | None) -> Promise[None]:
        self._broker.share.served.forget_group(self._group_id)
        if left is None:
            return self._broker.groups.delete_group(self._group_id)
        return self._broker.groups.note_share_topics(self._group_id, left)


def _error(promise: Promise[Any]) -> KafkaError | None:
    try:
        promise.result()
    except KafkaError as error:
        return error
    return None


def changes(promise: Promise[Changed]) -> tuple[KafkaError | None, Changed]:
    """Why the whole request was refused, or what became of each state."""
    try:
        return None, outcome(promise)
    except KafkaError as error:
        return error, {}


def delete_share_group(broker: ShareDataParts, group_id: str) -> Promise[Changed]:
    """The group with everything that is kept for it, if it has no members."""

    def change(known: Topics) -> Mapping[SharePartitionKey, Promise[Any]]:
        keys = [
            SharePartitionKey(group_id, topic_id, index)
            for topic_id, topic in known.items()
            for index in topic.partitions
        ]
        return {key: broker.share.states.delete(key) for key in keys}

    def finish(known: Topics, changed: Changed) -> Topics | None:
        for error in changed.values():
            if error is not None:
                raise error  # the group stays, and can be deleted again
        return None

    topics = broker.groups.share_topics(group_id, of_empty=True)
    return Change(broker, group_id, topics, change, finish).begin()
