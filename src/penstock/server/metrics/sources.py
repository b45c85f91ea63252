"""Where the values of a broker's metrics come from: its counts, and a look at its parts when it is scraped.

Nothing here waits. A scrape takes each shard's lock for a moment, as a request does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.controller.image import Image
from penstock.handlers.broker import Broker
from penstock.metrics.histogram import BUCKETS, Histogram, percentiles
from penstock.metrics.requests import ApiRequests
from penstock.metrics.text import Family, Sample, summary
from penstock.protocol.apis import Api
from penstock.server.metrics import families as known

QUANTILES: Final = ("0.5", "0.75", "0.95", "0.98", "0.99", "0.999")
_SHARES: Final = tuple(float(quantile) for quantile in QUANTILES)
PURGATORIES: Final = {Api.PRODUCE: "Produce", Api.FETCH: "Fetch"}

_NO_LABELS: Final[Mapping[str, str]] = {}


def samples(broker: Broker) -> Iterator[Sample]:
    """Everything that a broker has to say, sockets and process aside."""
    broker.metrics.gather()
    yield from _traffic(broker)
    yield from _requests(broker)
    yield from _replicas(broker)
    yield from _controller(broker)
    yield from _raft(broker)
    yield from _coordinators(broker)
    yield from _logs(broker)


def _traffic(broker: Broker) -> Iterator[Sample]:
    metrics, now = broker.metrics, broker.clock.monotonic()
    for name, family in known.TOPIC_COUNTS.items():
        yield Sample(family, _NO_LABELS, metrics.traffic.total(name))
        for topic, traffic in metrics.traffic.items():
            yield Sample(family, {"topic": topic}, getattr(traffic, name))
    for name, family in known.ISR_COUNTS.items():
        yield Sample(family, _NO_LABELS, metrics.count(name))
    for (name, rate), family in (known.TRAFFIC_RATES | known.ISR_RATES).items():
        meter = metrics.meter(name)
        mean = meter.mean(metrics.count(name), now)
        by_rate = dict(zip(known.RATES, meter.rates, strict=True))
        yield Sample(family, _NO_LABELS, by_rate.get(rate, mean))


def _requests(broker: Broker) -> Iterator[Sample]:
    for key, requests in sorted(broker.metrics.requests.items()):
        labels = {"request": api_name(key)}
        yield Sample(known.REQUESTS, labels, requests.count)
        yield Sample(known.REQUEST_BYTES, labels, requests.bytes_in)
        for family, histograms in _times(requests).items():
            yield from _summary(family, labels, histograms, among=requests.total)
    for api, name in PURGATORIES.items():
        waiting = broker.metrics.requests[api].waiting
        yield Sample(known.PURGATORY, {"delayedoperation": name}, waiting)


def _times(requests: ApiRequests) -> dict[Family, tuple[Histogram, ...]]:
    return {
        known.TOTAL_TIME: requests.total,
        known.LOCAL_TIME: requests.local,
        known.REMOTE_TIME: (requests.remote,),
        known.QUEUE_TIME: (),
        known.SEND_TIME: (requests.sending,),
    }


def _summary(
    family: Family,
    labels: Mapping[str, str],
    histograms: Sequence[Histogram],
    among: Sequence[Histogram] = (),
) -> Iterator[Sample]:
    """Several histograms as one. What is counted `among` others and not in them took no time at all."""
    recent, others = _merged(histograms), _merged(among)
    recent[0] += max(0, sum(others) - sum(recent))
    count = max(sum(each.count for each in histograms), sum(each.count for each in among))
    seconds = sum(each.sum_seconds for each in histograms)
    found = [value * 1000 for value in percentiles(recent, _SHARES)]
    quantiles = dict(zip(QUANTILES, found, strict=True))
    yield from summary(family, labels, count, seconds * 1000, quantiles)


def _merged(histograms: Sequence[Histogram]) -> list[int]:
    return [
        sum(counts) for counts in zip([0] * BUCKETS, *(each.recent() for each in histograms), strict=True)
    ]


def _replicas(broker: Broker) -> Iterator[Sample]:
    counts: Counter[str] = Counter()
    states = broker.controller.image.topics
    for partition in broker.partitions:
        counts["partitioncount"] += 1
        counts["offlinereplicacount"] += partition.is_offline
        leading = partition.leadership
        if leading is None:
            continue
        counts["leadercount"] += 1
        counts["underreplicatedpartitions"] += len(leading.isr) < len(leading.followers) + 1
        minimum = leading.effective_min_isr(partition.log.settings.min_insync_replicas)
        counts["underminisrpartitioncount"] += len(leading.isr) < minimum
        counts["atminisrpartitioncount"] += len(leading.isr) == minimum
        topic = states.get(partition.topic)
        if topic is not None and partition.index < len(topic.partitions):
            state = topic.partitions[partition.index]
            counts["reassigningpartitions"] += bool(state.adding or state.removing)
    for name, family in known.REPLICAS.items():
        yield Sample(family, _NO_LABELS, counts[name])


def _controller(broker: Broker) -> Iterator[Sample]:
    """What the cluster's metadata says, on every node: each has all of it, the active controller first."""
    counts = cluster_counts(broker.controller.image)
    counts["activecontrollercount"] = int(broker.controller.is_active)
    for name, family in known.CONTROLLER.items():
        yield Sample(family, _NO_LABELS, counts[name])


def cluster_counts(image: Image) -> Counter[str]:
    partitions = [state for topic in image.topics.values() for state in topic.partitions]
    active = sum(each.is_active for each in image.brokers.values())
    return Counter(
        activebrokercount=active,
        fencedbrokercount=sum(each.fenced for each in image.brokers.values()),
        globaltopiccount=len(image.topics),
        globalpartitioncount=len(partitions),
        offlinepartitionscount=sum(state.leader < 0 for state in partitions),
        preferredreplicaimbalancecount=sum(state.leader != state.replicas[0] for state in partitions),
    )


def _raft(broker: Broker) -> Iterator[Sample]:
    with broker.controller.looking_at_quorum() as state:
        role = type(state.role).__name__.lower()
        end = state.log_end
        values = {
            "current_epoch": state.epoch,
            "current_leader": -1 if state.leader_id is None else state.leader_id,
            "current_vote": -1 if state.voted_for is None else state.voted_for,
            "high_watermark": state.high_watermark,
            "log_end_offset": end.offset,
            "log_end_epoch": end.epoch,
        }
    for name, family in known.RAFT.items():
        yield Sample(family, _NO_LABELS, values[name])
    yield Sample(known.RAFT_STATE, {"state": role}, 1)


def _coordinators(broker: Broker) -> Iterator[Sample]:
    groups: Counter[tuple[str, str]] = Counter()
    for listed in broker.groups.runtime.look_at_all(lambda shard: shard.list_groups()):
        groups.update((group.group_type, group.state) for group in listed)
    for (protocol, state), count in sorted(groups.items()):
        yield Sample(known.GROUPS, {"protocol": protocol, "state": state}, count)
    transactions: Counter[str] = Counter()
    for every in broker.transactions.runtime.look_at_all(lambda shard: shard.all()):
        transactions.update(transaction.state.title for transaction in every)
    for state, count in sorted(transactions.items()):
        yield Sample(known.TRANSACTIONS, {"state": state}, count)
    for coordinator in broker.coordinators.values():
        shards = len(coordinator.runtime.active_shards())
        yield Sample(known.LOADED_SHARDS, {"topic": coordinator.topic}, shards)


def _logs(broker: Broker) -> Iterator[Sample]:
    for directory in broker.logs.directories:
        yield from _summary(known.FLUSHES, {"directory": directory.path}, [directory.flushes])
    yield Sample(known.OFFLINE_DIRECTORIES, _NO_LABELS, len(broker.logs.failures()))
    for partition in broker.partitions:
        labels = {"topic": partition.topic, "partition": str(partition.index)}
        yield Sample(known.LOG_SIZES, labels, partition.log.size_bytes)


def api_name(key: int) -> str:
    """As Kafka writes it: INIT_PRODUCER_ID is InitProducerId."""
    return Api(key).name.title().replace("_", "")
