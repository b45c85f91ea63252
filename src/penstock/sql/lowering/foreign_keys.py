"""Joins of tables on a foreign key: subscriptions go to the right table, answers come back."""

from __future__ import annotations

from penstock.kernels import foreign_key as kernel
from penstock.kernels.store_specs import KeyValueSpec
from penstock.kernels.tables import TableSource
from penstock.plan.nodes import InternalTopic, Sink, Source
from penstock.plan.plain_serde import PlainSerde
from penstock.plan.row_joins import MergedRow
from penstock.plan.row_keys import ForeignKey
from penstock.sql.analysis.relations import Joined
from penstock.sql.lowering.graph import Graph, Rows

_PLAIN = PlainSerde()


def join_foreign(graph: Graph, join: Joined, left: Rows, right: Rows, name: str) -> Rows:
    is_left = join.kind == "LEFT"
    asked, answered = f"{name}-subscription-registration-topic", f"{name}-subscription-response-topic"
    graph.topics += [InternalTopic(asked), InternalTopic(answered)]
    subscriptions, answers = kernel.SubscriptionSerde(_PLAIN), kernel.AnswerSerde(_PLAIN)
    parts = tuple((part.name, part.left) for part in join.parts) or (("KEY", join.left_key),)
    extractor = ForeignKey(parts, needs_all=True)
    send = graph.add(f"{name}-subscribe", kernel.Subscribe(extractor, _PLAIN, is_left), left.node)
    graph.add(f"{asked}-sink", Sink(_PLAIN, subscriptions, asked), send)
    source = graph.add(f"{asked}-source", Source(_PLAIN, subscriptions, (asked,)))
    graph.copartition({*right.sources, source})
    subscribed = graph.add_store(
        KeyValueSpec(
            f"{name}-subscription-store",
            kernel.CombinedKeySerde(_PLAIN, _PLAIN),
            subscriptions,
            caching=False,
        )
    )
    receive = graph.add(f"{name}-receive", kernel.ReceiveSubscription(subscribed), source)
    answer = graph.add(f"{name}-answer", kernel.AnswerSubscription(right.node), receive)
    change = graph.add(f"{name}-answer-change", kernel.AnswerChange(subscribed), right.node)
    graph.add(f"{answered}-sink", Sink(_PLAIN, answers, answered), answer, change)
    answer_source = graph.add(f"{answered}-source", Source(_PLAIN, answers, (answered,)))
    sources = frozenset({*left.sources, answer_source})
    graph.copartition(sources)
    resolve = kernel.ResolveAnswer(left.node, MergedRow(), _PLAIN, is_left)
    resolver = graph.add(f"{name}-resolve", resolve, answer_source)
    store = graph.add_store(KeyValueSpec(f"{name}-store", _PLAIN, _PLAIN))
    return Rows(graph.add(name, TableSource(store=store, materialized=True), resolver), True, sources)
