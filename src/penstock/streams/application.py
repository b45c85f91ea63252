"""`Application`: a topology that runs. Its engine is Spark (`penstock.spark.host`), imported when it
starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.plan.handlers import Handlers
from penstock.streams.queries import open_view
from penstock.streams.topology import Topology

if TYPE_CHECKING:
    from penstock.metrics.text import Sample
    from penstock.server.metrics.endpoint import MetricsEndpoint
    from penstock.spark.host.host import Host

METRICS_LISTENER: Final = "metrics.listener"
"""The setting that opens `/metrics`, `/health` and `/ready` of an application, as of a broker."""


class Application:
    """A topology with its id: the id names the group, the transactional id, the internal topics.

    `settings` are Kafka Streams' (docs/streams.md lists them). `state_dir` holds the state files of this
    instance, and may be deleted when nothing runs: what is missing is read from the changelog topics.
    """

    def __init__(
        self,
        topology: Topology,
        application_id: str,
        bootstrap_servers: str,
        settings: Mapping[str, str] | None = None,
        state_dir: str | Path | None = None,
        handlers: Handlers | None = None,
    ) -> None:
        """`handlers` stand for the settings that name handlers of exceptions."""
        self.topology = topology
        self.application_id = application_id
        self.bootstrap_servers = bootstrap_servers
        self.settings = dict(settings or {})
        self.state_dir = state_dir
        self._handlers = handlers
        self._host: Host | None = None
        self._views: dict[str, Any] = {}
        self._endpoint: MetricsEndpoint | None = None

    @property
    def security(self) -> dict[str, str]:
        """Those of the settings that say how the brokers are reached."""
        return {
            name: str(value)
            for name, value in self.settings.items()
            if name.startswith(("security.", "ssl.", "sasl."))
        }

    @property
    def internal_topics(self) -> list[str]:
        """Repartition and changelog topics by their names in the cluster."""
        plan = self.topology.plan
        repartition = [plan.topic_name(topic.name, self.application_id) for topic in plan.internal_topics]
        logged = [store for store in plan.used_stores if store.logging]
        return sorted(
            repartition + [plan.changelog_name(store.name, self.application_id) for store in logged]
        )

    def start(self, spark: Any = None, trigger: Mapping[str, Any] | None = None) -> None:
        """Check topics, create internal ones, and begin to run in the background, as soon as no other
        instance does.

        `spark` is a session, by default that of `penstock.spark.session()`; `trigger` are the keywords of
        Spark's own trigger: `{"processingTime": "1 second"}`, or `{"availableNow": True}`, which ends by
        itself.
        """
        from penstock.spark.host.host import Host
        from penstock.spark.host.settings import host_settings, with_handlers
        from penstock.spark.launch import session

        if self._host is not None:
            raise RuntimeError(f"{self.application_id} was started before: make another Application")
        settings = with_handlers(host_settings(self.settings, self.state_dir), self._handlers)
        host = Host(self.topology.plan, self.application_id, self.bootstrap_servers, settings)
        if listen := self.settings.get(METRICS_LISTENER):
            self._endpoint = self._open_metrics(listen)
        try:
            host.start(session(self.application_id) if spark is None else spark, trigger)
        except BaseException:
            self._close_metrics()
            raise
        self._host = host

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the application has ended; whether it has."""
        return self._started.wait(timeout_seconds)

    def close(self) -> None:
        """End it, the batch that runs included. Nothing is lost: another start goes on where it was."""
        for view in self._views.values():
            view.close()
        self._views.clear()
        if self._host is not None:
            self._host.close()
        self._close_metrics()

    def metrics(self) -> Iterator[Sample]:
        """The numbers of this instance; none before it was started. Blocking: Spark is asked."""
        if self._host is not None:
            from penstock.spark.host.metrics import host_samples

            yield from host_samples(self._host)

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Where `/metrics` is, if the setting `metrics.listener` asks for it."""
        return None if self._endpoint is None else self._endpoint.address

    def _open_metrics(self, listen: str) -> MetricsEndpoint:
        from penstock.metrics.process import process_samples
        from penstock.server.metrics.endpoint import MetricsEndpoint
        from penstock.settings.listeners import parse_address

        def samples() -> Iterator[Sample]:
            yield from self.metrics()
            yield from process_samples()

        address = parse_address(METRICS_LISTENER, listen)
        endpoint = MetricsEndpoint(*address, samples, lambda: self.state in ("running", "standing by"))
        endpoint.start()
        return endpoint

    def _close_metrics(self) -> None:
        if self._endpoint is not None:
            self._endpoint.close()
            self._endpoint = None

    def store(self, name: str) -> Any:
        """A view of a store with everything in it that is committed now, kept current from then on
        (`queries.py`). It needs no start: another process may ask, too.
        """
        view = self._views.get(name)
        if view is None:
            plan, servers = self.topology.plan, self.bootstrap_servers
            view = self._views[name] = open_view(
                plan, self.application_id, servers, name, security=self.security
            )
        else:
            view.wait_until_current()
        return view

    @property
    def state(self) -> str:
        """`created`, `standing by`, `running`, `failed` or `closed`."""
        return "created" if self._host is None else self._host.state

    @property
    def is_opening(self) -> bool:
        """Whether Spark is still starting what reads the topics: the costly part of a start."""
        query = None if self._host is None else self._host.query
        return query is not None and query.isActive and "Initializing" in str(query.status["message"])

    @property
    def progress(self) -> dict[str, Any]:
        """Rates and times of the last batch, as Spark counts them; empty before it has ended."""
        query = None if self._host is None else self._host.query
        last: Any = None if query is None else query.lastProgress
        if last is None:
            return {}
        return {
            "batchId": last["batchId"],
            "timestamp": last["timestamp"],
            "inputRows": last["numInputRows"],
            "inputRowsPerSecond": last["inputRowsPerSecond"],
            "processedRowsPerSecond": last["processedRowsPerSecond"],
            "durationMs": dict(last["durationMs"]),
        }

    @property
    def error(self) -> BaseException | None:
        """Why it failed."""
        return None if self._host is None else self._host.error

    @property
    def _started(self) -> Host:
        if self._host is None:
            raise RuntimeError(f"{self.application_id} was not started")
        return self._host
