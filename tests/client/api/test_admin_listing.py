"""Groups and transactions are listed by all brokers; a coordinator that is not ready is asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.client.api.admin.client import Admin
from penstock.client.api.exceptions import KafkaException
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.testing import Broker
from penstock.testing.proxy import Proxy

SECONDS: Final = 30


def not_ready(code: ErrorCode, rows: str) -> Callable[[dict[str, Any]], None]:
    """The answer of a coordinator that is not ready: an error and no rows."""

    def alter(answer: dict[str, Any]) -> None:
        answer |= {"error_code": code, rows: []}

    return alter


def commit(servers: str, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("read", 1, 1)])["read"].result(30)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition("read", 0, 0)], asynchronous=False)
    consumer.close()


@pytest.mark.parametrize(
    "code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE]
)
def test_groups_are_asked_for_again_while_a_coordinator_loads(code: ErrorCode) -> None:
    with Broker() as broker, Proxy(broker.bootstrap_servers) as proxy:
        commit(broker.bootstrap_servers, "readers")
        rule = proxy.change(Api.LIST_GROUPS, not_ready(code, "groups"), times=2)
        with Admin({"bootstrap.servers": proxy.bootstrap_servers}) as admin:
            listed = admin.list_consumer_groups(timeout=SECONDS).all().result(SECONDS)
        assert [each.group_id for each in listed] == ["readers"]
        assert len(rule.caught) == 2


def test_transactions_are_asked_for_again_while_a_coordinator_loads() -> None:
    code, rows = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "transaction_states"
    with Broker() as broker, Proxy(broker.bootstrap_servers) as proxy:
        rule = proxy.change(Api.LIST_TRANSACTIONS, not_ready(code, rows))
        with Admin({"bootstrap.servers": proxy.bootstrap_servers}) as admin:
            assert admin.list_transactions(timeout=SECONDS).all().result(SECONDS) == []
        assert len(rule.caught) == 1


def test_a_listing_that_never_comes_whole_is_an_error_and_not_a_part() -> None:
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    with Broker() as broker, Proxy(broker.bootstrap_servers) as proxy:
        commit(broker.bootstrap_servers, "readers")
        proxy.change(Api.LIST_GROUPS, not_ready(code, "groups"), times=None)
        with (
            Admin({"bootstrap.servers": proxy.bootstrap_servers}) as admin,
            pytest.raises(KafkaException, match="Could not list groups"),
        ):
            admin.list_consumer_groups(timeout=1).all().result(SECONDS)
