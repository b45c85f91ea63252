"""The nodes of a foreign-key join; what they do stands in `kernels/foreign_key.py`."""

from __future__ import annotations

from typing import Any

from penstock.kernels import foreign_key as kernel
from penstock.kernels.serdes import Serde
from penstock.kernels.store_specs import KeyValueSpec
from penstock.kernels.tables import TableSource
from penstock.plan.nodes import Sink, Source
from penstock.streams.graph import Graph
from penstock.streams.materialized import Materialized

Side = tuple[str, Serde[Any], Serde[Any], frozenset[str]]
"""A table: its node, its serdes, its sources."""

_FK = "KTABLE-FK-JOIN-"
_PROCESSOR = f"{_FK}SUBSCRIPTION-PROCESSOR-"


def join_on_foreign_key(
    graph: Graph,
    primary: Side,
    foreign: Side,
    extractor: Any,
    joiner: Any,
    store: Materialized,
    name: str | None,
    *,
    left: bool,
) -> tuple[str, frozenset[str]]:
    """Returns the node of the joined table and its sources."""
    table, key, value, sources = primary
    other, other_key, other_value, other_sources = foreign
    registration = f"{_FK}SUBSCRIPTION-REGISTRATION-"
    asked = graph.named(name, registration, "-subscription-registration") + "-topic"
    graph.add_internal_topic(asked)
    subscriptions = kernel.SubscriptionSerde(key)
    send = graph.named(name, registration, "-subscription-registration-processor")
    graph.add(send, kernel.Subscribe(extractor, value, left), table)
    sink = graph.named(name, "KTABLE-SINK-", "-subscription-registration-sink")
    graph.add(sink, Sink(other_key, subscriptions, asked), send)
    source = graph.named(name, "KTABLE-SOURCE-", "-subscription-registration-source")
    graph.add(source, Source(other_key, subscriptions, (asked,)))
    graph.copartition({*other_sources, source})
    subscribed = graph.named(name, f"{_FK}SUBSCRIPTION-STATE-STORE-", "-subscription-store")
    graph.add_store(
        KeyValueSpec(subscribed, kernel.CombinedKeySerde(other_key, key), subscriptions, caching=False)
    )
    receive = graph.named(name, _PROCESSOR, "-subscription-receive")
    graph.add(receive, kernel.ReceiveSubscription(subscribed), source)
    answer = graph.named(name, _PROCESSOR, "-subscription-join-foreign")
    graph.add(answer, kernel.AnswerSubscription(other), receive)
    change = graph.named(name, _PROCESSOR, "-foreign-join-subscription")
    graph.add(change, kernel.AnswerChange(subscribed), other)
    answered = graph.named(name, f"{_FK}SUBSCRIPTION-RESPONSE-", "-subscription-response") + "-topic"
    graph.add_internal_topic(answered)
    answers = kernel.AnswerSerde(other_value)
    answer_sink = graph.named(name, "KTABLE-SINK-", "-subscription-response-sink")
    graph.add(answer_sink, Sink(key, answers, answered), answer, change)
    answer_source = graph.named(name, "KTABLE-SOURCE-", "-subscription-response-source")
    graph.add(answer_source, Source(key, answers, (answered,)))
    result_sources = frozenset({*sources, answer_source})
    graph.copartition(result_sources)
    resolver = graph.named(
        name, f"{_FK}SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-", "-subscription-response-resolver"
    )
    graph.add(resolver, kernel.ResolveAnswer(table, joiner, value, left), answer_source)
    result = graph.named(name, f"{_FK}OUTPUT-", "-result")
    store_name = store.name or graph.new_store_name(f"{_FK}OUTPUT-")
    result_value = graph.value_serde(store.value_serde)
    graph.add_store(store.key_value_spec(store_name, key, result_value))
    graph.add(
        result,
        TableSource(store=store_name, materialized=store.name is not None, caching=store.caching),
        resolver,
    )
    return result, result_sources
