"""`Topology`: the result of a builder, or nodes put together one by one with the Processor API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.kernels.processor import Processor, UserProcessor
from penstock.kernels.serdes import BytesSerde, Serde
from penstock.kernels.store_specs import StoreSpec
from penstock.kernels.timestamps import FailOnInvalidTimestamp, TimestampExtractor
from penstock.plan.describe import describe
from penstock.plan.errors import TopologyError, caller
from penstock.plan.nodes import Sink, Source
from penstock.plan.picture import svg
from penstock.plan.plan import Plan
from penstock.plan.rules import rewrite
from penstock.plan.serial import to_json
from penstock.streams.graph import Graph


class Topology:
    """Nodes by name: sources, processors with stores, sinks. `StreamsBuilder.build()` gives one, too."""

    def __init__(self, *, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None) -> None:
        self._graph = Graph(key_serde or BytesSerde(), value_serde or BytesSerde())
        self._plan: Plan | None = None

    @staticmethod
    def of(plan: Plan, optimize: Iterable[str] = ()) -> Topology:
        topology = Topology()
        topology._plan = rewrite(plan, optimize)
        return topology

    @property
    def plan(self) -> Plan:
        """The plan as it will run, checked."""
        return rewrite(self._graph.plan()) if self._plan is None else self._plan

    def describe(self) -> str:
        """Kafka's text form."""
        return describe(self.plan)

    def picture(self) -> str:
        """The topology as SVG."""
        return svg(self.plan)

    def to_json(self) -> str:
        """The plan as JSON; its functions must have names."""
        return to_json(self.plan)

    def add_source(
        self,
        name: str,
        *topics: str,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
    ) -> Topology:
        self._check_open()
        if not topics:
            raise TopologyError(f"source {name} needs at least one topic", caller())
        key, value = self._graph.key_serde(key_serde), self._graph.value_serde(value_serde)
        extractor = timestamp_extractor or FailOnInvalidTimestamp()
        self._graph.add(name, Source(key, value, topics, extractor=extractor))
        return self

    def add_processor(self, name: str, supplier: Callable[[], Processor], *parents: str) -> Topology:
        self._check_open()
        if not parents:
            raise TopologyError(f"processor {name} needs at least one parent", caller())
        self._graph.add(name, UserProcessor(supplier), *parents)
        return self

    def add_sink(
        self,
        name: str,
        topic: str | Callable[..., str],
        *parents: str,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
    ) -> Topology:
        self._check_open()
        key, value = self._graph.key_serde(key_serde), self._graph.value_serde(value_serde)
        fixed, extractor = (topic, None) if isinstance(topic, str) else (None, topic)
        self._graph.add(name, Sink(key, value, fixed, extractor), *parents)
        return self

    def add_state_store(self, store: StoreSpec, *processors: str) -> Topology:
        """A store, and the processors that use it."""
        self._check_open()
        self._graph.add_store(store)
        for processor in processors:
            self._graph.connect_store(processor, [store.name])
        return self

    def _check_open(self) -> None:
        if self._plan is not None:
            raise TopologyError("a topology that was built by the DSL is finished", caller())
