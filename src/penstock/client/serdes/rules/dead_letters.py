"""The action DLQ: a record that breaks a rule goes to a topic of its own, and fails."""

from __future__ import annotations

import json
from typing import Any

from penstock.client.api.exceptions import KafkaException
from penstock.client.serdes.rules.running import RuleContext, RuleFailed

_PASSED_ON = ("bootstrap.servers", "security.", "sasl.", "ssl.", "client.dns.lookup")


class DeadLetters:
    """The parameter `dlq.topic`, of the rule or of the settings, names the topic. Headers say why."""

    type = "DLQ"

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {}
        self._topic: str | None = None
        self._producer: Any = None

    def configure(self, settings: dict[str, Any]) -> None:
        self._settings = {name: value for name, value in settings.items() if name.startswith(_PASSED_ON)}
        self._topic = settings.get("dlq.topic")

    def run(self, context: RuleContext, value: Any, error: Exception | None) -> None:
        topic = context.parameter("dlq.topic") or self._topic
        if not topic:
            raise RuleFailed("the action DLQ needs the parameter dlq.topic")
        headers = {
            "__rule.name": context.rule.name,
            "__rule.mode": context.mode,
            "__rule.subject": context.subject,
            "__rule.topic": context.topic,
            "__rule.exception": str(error or ""),
        }
        data = value if isinstance(value, bytes) else _readable(value)
        try:
            self._ready().send(
                topic,
                None if context.is_key else data,
                data if context.is_key else None,
                headers={name: text.encode() for name, text in headers.items()},
            )
        except KafkaException as failed:
            raise RuleFailed(
                f"{error}; and the dead-letter topic {topic!r} took nothing: {failed}"
            ) from failed

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close()

    def _ready(self) -> Any:
        if self._producer is None:
            from penstock.client.api.producer import Producer

            self._producer = Producer(self._settings)
        return self._producer


def _readable(value: Any) -> bytes:
    from penstock.client.serdes.rules.plain import plain

    return json.dumps(plain(value), ensure_ascii=False, default=_text).encode()


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
