"""A real broker inside the test's own process, on a port of its own, ready in a tenth of a second."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from penstock.server.main import RunningBroker
from penstock.settings import BrokerSettings

SUITED: Final = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}
"""What suits a test: the first member of a group waits for no others, and few logs are opened and closed."""


class Broker:
    """`with Broker() as broker: …` gives `broker.bootstrap_servers`.

    Without `data` the logs live in a temporary directory that goes with the broker; with it they stay, and a
    second `Broker` on the same directory goes on where the first one stopped. `settings` takes Kafka's names,
    and wins over what suits a test.
    """

    def __init__(self, data: str | None = None, settings: Mapping[str, str] | None = None) -> None:
        self._temporary = tempfile.mkdtemp(prefix="penstock-") if data is None else None
        defaults = {**SUITED, "log.dirs": data or self._temporary or ""}
        self._broker: RunningBroker | None = None
        self._settings = BrokerSettings.from_texts({**defaults, **(settings or {})})

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT for any client."""
        assert self._broker is not None, (
            "the broker is not running: use it as a context manager, or call start()"
        )
        host, port = next(iter(self._broker.addresses.values()))
        return f"{host}:{port}"

    @property
    def metrics_address(self) -> str:
        """HOST:PORT of /metrics; the setting `metrics.listener` opens it."""
        assert self._broker is not None, "the broker is not running"
        assert self._broker.metrics is not None, "without metrics.listener there is no such address"
        host, port = self._broker.metrics.address
        return f"{host}:{port}"

    def start(self) -> Self:
        self._broker = RunningBroker(self._settings)
        self._broker.start()
        return self

    def stop(self) -> None:
        """A clean shutdown; the temporary directory goes too."""
        if self._broker is not None:
            self._broker.close()
            self._broker = None
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
