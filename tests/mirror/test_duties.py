"""What a flow keeps alike beside records: quotas, asked of two brokers without a mirror around."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.client.api.admin.access import ClientQuotaAlteration, ClientQuotaEntity
from penstock.mirror.counting import FlowCounts
from penstock.mirror.duties import TopicDuties
from penstock.mirror.inspecting import sides
from penstock.mirror.settings import MirrorSettings
from penstock.mirror.sides import Side
from penstock.testing import Broker

ANN: ClientQuotaEntity = (("client-id", "loader"), ("user", "ann"))
EVERYBODY: ClientQuotaEntity = (("user", None),)
Quotas = dict[ClientQuotaEntity, dict[str, float]]


@pytest.fixture
def both() -> Iterator[tuple[Side, Side, TopicDuties]]:
    with Broker() as a, Broker() as b:
        texts = {"A.bootstrap.servers": a.bootstrap_servers, "B.bootstrap.servers": b.bootstrap_servers}
        flow = MirrorSettings({"clusters": "A,B", "A->B.enabled": "true", **texts}).flow("A", "B").checked()
        with sides(flow) as (one, other):
            yield one, other, TopicDuties(flow, one, other, FlowCounts("A", "B"))


def _set(side: Side, entity: ClientQuotaEntity, quotas: dict[str, float]) -> None:
    side.admin.alter_client_quotas([ClientQuotaAlteration(entity, quotas)], timeout=30).result(30)


def _of(side: Side) -> Quotas:
    found: Quotas = side.admin.describe_client_quotas(timeout=30).result(30)
    return found


def test_quotas_of_the_source_are_set_on_the_target_and_none_is_taken_away(
    both: tuple[Side, Side, TopicDuties],
) -> None:
    source, target, duties = both
    duties.sync_quotas()  # there is none
    _set(source, ANN, {"producer_byte_rate": 4096.0, "request_percentage": 50.0})
    _set(source, EVERYBODY, {"consumer_byte_rate": 1e6})
    _set(target, ANN, {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0})

    duties.sync_quotas()
    expected = {"producer_byte_rate": 4096.0, "request_percentage": 50.0, "consumer_byte_rate": 2.0}
    assert _of(target) == {ANN: expected, EVERYBODY: {"consumer_byte_rate": 1e6}}
    assert _of(source)[ANN] == {"producer_byte_rate": 4096.0, "request_percentage": 50.0}
    _set(source, EVERYBODY, {"consumer_byte_rate": 5.0})
    duties.sync_quotas()
    assert _of(target)[EVERYBODY] == {"consumer_byte_rate": 5.0}
