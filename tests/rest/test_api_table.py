"""Every operation of Confluent's reference is answered with its codes, and docs/rest.md says so."""

from __future__ import annotations

from collections.abc import Callable

from penstock.client.admin import Admin
from tests.rest.api_cases import CASES, PAGE
from tests.rest.proxies import Proxy, running_proxy
from tests.web.api_tables import check, is_current


def test_every_operation_that_is_described_is_answered_with_each_of_its_codes(
    bootstrap_servers: str, admin: Admin, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    with running_proxy(bootstrap_servers, consumer_request_timeout_ms="50") as proxy:
        names = {
            "t": topic,
            "c": proxy.cluster().rpartition("/")[2],
            "b": str(admin.cluster().brokers[0].node_id),
            "known": f"known-{group}",
        }
        commit(proxy, names)
        offences = []
        for number, case in enumerate(CASES):
            own = f"{group}-{number}"
            offences.append(check(proxy.client, case, {**names, "g": own}))
            if "/consumers/{group}" in case.path:
                proxy.client.delete(f"/consumers/{own}/instances/i")
    assert not any(offences), "\n".join(filter(None, offences))


def commit(proxy: Proxy, names: dict[str, str]) -> None:
    """A group that has committed an offset."""
    instance = proxy.consumer(names["known"], "i", "json")
    partition = {"topic": names["t"], "partition": 0}
    proxy.send("POST", f"{instance}/assignments", {"partitions": [partition]})
    answer = proxy.send("POST", f"{instance}/offsets", {"offsets": [{**partition, "offset": 0}]})
    assert answer.status_code == 200
    proxy.client.delete(instance)


def test_the_table_of_the_page_is_current() -> None:
    assert is_current(PAGE, CASES), "run python -m tests.rest.api_cases"


def test_every_route_is_in_the_table(proxy: Proxy) -> None:
    described = {(case.method, _bare(case.path)) for case in CASES if not case.absent}
    paths = proxy.client.get("/openapi.json").json()["paths"]
    ours = {(method.upper(), _bare(path)) for path, methods in paths.items() for method in methods}
    assert ours == described


def _bare(path: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))
