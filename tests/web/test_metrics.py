"""Every HTTP service tells Prometheus of its requests, whatever clients make up."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from penstock.metrics.histogram import WINDOW_SECONDS
from penstock.metrics.text import Family, Sample
from penstock.security.access import Open
from penstock.web import Call, HttpError, Route, Service, make_app
from penstock.web.metrics import FAMILIES, HttpMetrics

OWN = Family("penstock_example_things", "gauge", "Things.")
PROMETHEUS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"


async def show(call: Call) -> dict[str, str]:
    if call.path["thing"] == "missing":
        raise HttpError(404, "No such thing.")
    return dict(call.path)


@pytest.fixture
def client() -> TestClient:
    service = Service("Example", "1", "An example.", metrics=lambda: [Sample(OWN, {}, 7)])
    routes = (Route("GET", "/things/{thing}", show, "Shows.", access=Open("a test")),)
    return TestClient(make_app(service, routes), raise_server_exceptions=False)


def scrape(client: TestClient) -> dict[tuple[str, ...], float]:
    answer = client.get("/metrics", headers={"accept": PROMETHEUS})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_requests_are_counted_by_route_and_status(client: TestClient) -> None:
    for path in ("/things/a", "/things/b", "/things/missing", "/nowhere", "/elsewhere"):
        client.get(path)
    found = scrape(client)
    name = "penstock_http_requests_total"
    assert found[name, "GET", "/things/{thing}", "200"] == 2
    assert found[name, "GET", "/things/{thing}", "404"] == 1
    assert found[name, "GET", "", "404"] == 2
    assert found["penstock_http_request_duration_seconds_count", "GET", "/things/{thing}"] == 3
    assert found[("penstock_http_requests_in_flight",)] == 1, "the scrape itself"


def test_a_method_that_a_client_made_up_is_no_label(client: TestClient) -> None:
    for number in range(5):
        client.request(f"MADEUP{number}", "/things/a")
    methods = {key[1] for key in scrape(client) if key[0] == "penstock_http_requests_total"}
    assert methods == {"other"}


def test_a_service_has_numbers_of_its_own(client: TestClient) -> None:
    assert scrape(client)[(OWN.name,)] == 7


def test_percentiles_are_of_the_last_minutes() -> None:
    now = [0.0]
    metrics = HttpMetrics(lambda: now[0])
    with metrics.serving("GET") as served:
        served.path, served.status = "/slow", 200
        now[0] += 2.0
    quantiles = [sample.value for sample in metrics.samples() if sample.labels.get("quantile") == "0.99"]
    assert quantiles == [pytest.approx(2.0, rel=0.125)]
    for _ in range(3):
        now[0] += WINDOW_SECONDS
        list(metrics.samples())
    quantiles = [sample.value for sample in metrics.samples() if sample.labels.get("quantile") == "0.99"]
    assert quantiles == [0.0]


def test_the_page_of_the_documentation_lists_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    section = page.partition("## An HTTP service")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    labels = [", ".join(f"`{label}`" for label in family.labels) for family in FAMILIES]
    assert rows == [
        f"| `{family.name}` | {family.kind} | {shown} | {family.help} |"
        for family, shown in zip(FAMILIES, labels, strict=True)
    ]


def test_a_request_that_breaks_is_counted_and_not_in_flight_any_more() -> None:
    metrics = HttpMetrics()
    with pytest.raises(ZeroDivisionError), metrics.serving("GET"):
        raise ZeroDivisionError
    values = {sample.family: sample.value for sample in metrics.samples() if not sample.suffix}
    assert values[FAMILIES[0]] == 1
    assert values[FAMILIES[2]] == 0
