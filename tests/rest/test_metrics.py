"""The proxy's requests are counted by route, as every service of `web` does."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from tests.rest.proxies import Proxy


def test_requests_to_the_proxy_are_counted_by_route(proxy: Proxy) -> None:
    assert proxy.client.get("/topics").status_code == 200
    text = proxy.client.get("/metrics", headers={"accept": "text/plain"}).text
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    counted = {
        (sample.labels["path"], sample.labels["status"]): sample.value
        for sample in samples
        if sample.name == "penstock_http_requests_total" and sample.labels["method"] == "GET"
    }
    assert counted["/topics", "200"] >= 1
