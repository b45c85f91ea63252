"""A mirror as a process: all flows of an `mm2.properties`, and their numbers over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from penstock import __version__
from penstock.metrics.text import Sample
from penstock.mirror.counting import Rate
from penstock.mirror.flow import Flow
from penstock.mirror.settings import FlowSettings, MirrorSettings
from penstock.security.access import Open
from penstock.web import Call, Route, Service, make_app
from penstock.web.application import App
from penstock.web.serving import listening_socket, print_ready, serve_on

SUMMARY: Final = "The flows of a mirror between clusters: their states and how far behind they are."
NO_RATE: Final = Rate(0.0, 0.0)
_NOBODY_NAMED: Final = Open("it shows numbers, and listens on loopback unless told otherwise")


class SparkOnDemand:
    """One session for all flows, started with the first that copies."""

    def __init__(self, settings: MirrorSettings) -> None:
        texts = settings.texts
        self._master = texts.get("spark.master", "local[*]")
        self._conf = {
            name: text for name, text in texts.items() if name.startswith("spark.") and name != "spark.master"
        }
        self._lock = threading.Lock()
        self._session: Any = None

    def session(self) -> Any:
        with self._lock:
            if self._session is None or self._session.sparkContext._jsc is None:
                from penstock.spark import session

                self._session = session("penstock-mirror", self._master, **self._conf)
            return self._session

    def stop(self) -> None:
        with self._lock:
            if self._session is not None:
                self._session.stop()
                self._session = None


def make_flows(
    settings: MirrorSettings, wanted: Sequence[FlowSettings], spark: Callable[[], Any]
) -> list[Flow]:
    """SettingError for the first thing that cannot be honoured, before anything runs."""
    settings.check_quotas()
    checked = [flow.checked() for flow in wanted]
    copies = sum(flow.enabled for flow in checked)
    return [Flow(flow, spark, copies) for flow in checked]


@contextmanager
def running(settings: MirrorSettings, clusters: Sequence[str] | None = None) -> Iterator[list[Flow]]:
    """The flows while they run: those to `clusters`, or all."""
    spark = SparkOnDemand(settings)
    flows = make_flows(settings, settings.flows(clusters), spark.session)
    try:
        for flow in flows:
            flow.start()
        yield flows
    finally:
        threads = [threading.Thread(target=flow.stop) for flow in flows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spark.stop()


def routes(flows: Sequence[Flow]) -> tuple[Route, ...]:
    async def show(_call: Call) -> Any:
        return [describe(flow) for flow in flows]

    summary = "Each flow with its state, its errors, and the lag and rate of each of its partitions."
    return (Route("GET", "/flows", show, summary, access=_NOBODY_NAMED, returns=list[dict[str, Any]]),)


def describe(flow: Flow) -> dict[str, Any]:
    lags, rates = flow.counts.lags(), flow.counts.rates()
    return {
        "source": flow.settings.source,
        "target": flow.settings.target,
        "state": flow.state,
        "batches": flow.counts.batches,
        "latency_seconds": round(flow.counts.latency_seconds, 3),
        "lag_records": sum(lag.records for lag in lags.values()),
        "lag_seconds": round(max((lag.seconds for lag in lags.values()), default=0.0), 3),
        "records_per_second": round(sum(rate.records for rate in rates.values()), 1),
        "bytes_per_second": round(sum(rate.bytes for rate in rates.values()), 1),
        "errors": flow.counts.errors(),
        "partitions": [
            {
                "topic": place.topic,
                "partition": place.partition,
                "lag_records": lag.records,
                "lag_seconds": round(lag.seconds, 3),
                "records_per_second": round(rates.get(place, NO_RATE).records, 1),
                "bytes_per_second": round(rates.get(place, NO_RATE).bytes, 1),
            }
            for place, lag in sorted(lags.items())
        ],
    }


def make_mirror_app(flows: Sequence[Flow]) -> App:
    def samples() -> Iterator[Sample]:
        for flow in flows:
            yield from flow.counts.samples()

    return make_app(Service("Penstock Mirror", __version__, SUMMARY, metrics=samples), routes(flows))


def run(
    settings: MirrorSettings,
    listen: tuple[str, int],
    clusters: Sequence[str] | None = None,
    ready: Callable[[str], None] = print_ready,
) -> None:
    """Serves until SIGTERM or SIGINT. OSError when the address cannot be had."""
    with listening_socket(*listen) as listener, running(settings, clusters) as flows:
        serve_on(make_mirror_app(flows), listener, ready)
