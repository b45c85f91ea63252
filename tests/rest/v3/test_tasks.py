"""Tasks of brokers are none; what the broker does not have is refused with a reason."""

from __future__ import annotations

import pytest

from penstock.rest.v3.tasks import UNSUPPORTED
from tests.rest.proxies import Proxy


def test_there_are_no_tasks_of_brokers(proxy: Proxy) -> None:
    cluster = proxy.cluster()
    broker = proxy.client.get(f"{cluster}/brokers").json()["data"][0]["broker_id"]
    for path in ("-/tasks", "-/tasks/add-broker", f"{broker}/tasks"):
        answer = proxy.client.get(f"{cluster}/brokers/{path}").json()
        assert (answer["kind"], answer["data"]) == ("KafkaBrokerTaskList", [])
    for path in (f"{broker}/tasks/remove-broker", "-/tasks/paint-broker", "99/tasks"):
        assert proxy.client.get(f"{cluster}/brokers/{path}").status_code == 404


@pytest.mark.parametrize(("method", "path", "_told"), UNSUPPORTED)
def test_what_the_broker_does_not_have_is_refused_with_a_reason(
    proxy: Proxy, method: str, path: str, _told: str
) -> None:
    below = path.removeprefix("/v3/clusters/{cluster_id}").replace("{", "").replace("}", "")
    answer = proxy.client.request(method, proxy.cluster() + below)
    assert (answer.status_code, answer.json()["error_code"]) == (400, 40035)
    assert "KIP-" in answer.json()["message"]
