"""The registry's requests are counted by route, as every service of `web` does."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families


def test_requests_to_the_registry_are_counted_by_route(http: httpx.Client, subject: str) -> None:
    assert http.get(f"/subjects/{subject}/versions").status_code == 404
    text = http.get("/metrics", headers={"accept": "text/plain"}).text
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    counted = {
        (sample.labels["path"], sample.labels["status"]): sample.value
        for sample in samples
        if sample.name == "penstock_http_requests_total" and sample.labels["method"] == "GET"
    }
    assert counted["/subjects/{subject}/versions", "404"] >= 1
