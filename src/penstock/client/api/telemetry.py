"""Java's calls about metrics that clients push to brokers (KIP-714). This client pushes none: as in Java with
enable.metrics.push=false, an instance has no id, and registering a metric has no effect."""

from __future__ import annotations

import logging
from typing import Any

from penstock.client.api.exceptions import IllegalStateException

_log = logging.getLogger(__name__)


class WithoutTelemetry:
    __slots__ = ()

    def client_instance_id(self, timeout: float | None = None) -> str:
        raise IllegalStateException("Telemetry is not enabled: this client pushes no metrics to the broker.")

    def register_metric_for_subscription(self, metric: Any) -> None:
        _log.debug("telemetry is not enabled: %r is not registered", metric)

    def unregister_metric_from_subscription(self, metric: Any) -> None:
        _log.debug("telemetry is not enabled: %r is not unregistered", metric)
