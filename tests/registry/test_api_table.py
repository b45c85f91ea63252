"""Every operation and code of Confluent's description is answered, and docs/registry.md says so."""

from __future__ import annotations

import httpx

from tests.registry.api_cases import CASES, OWN, PAGE
from tests.web.api_tables import check, is_current


def test_every_operation_that_is_described_is_answered_with_each_of_its_codes(http: httpx.Client) -> None:
    own = OWN["schema"].replace("<n>", "guid")
    made = http.post("/subjects/for-the-guid/versions", json={"schema": own}).json()
    offences = []
    for number, case in enumerate(CASES):
        names = {"s": f"table-{number}", "n": str(number), "guid": made["guid"]}
        offences.append(check(http, case, names))
    for name in http.get("/exporters").json():
        http.delete(f"/exporters/{name}")
    assert not any(offences), "\n".join(filter(None, offences))


def test_the_table_of_the_page_is_current() -> None:
    assert is_current(PAGE, CASES), "run python -m tests.registry.api_cases"


def test_every_route_is_in_the_table(http: httpx.Client) -> None:
    described = {(case.method, _bare(case.path)) for case in CASES if not case.absent}
    paths = http.get("/openapi.json").json()["paths"]
    ours = {(method.upper(), _bare(path)) for path, methods in paths.items() for method in methods}
    assert ours == described


def _bare(path: str) -> str:
    """Parameters without their names."""
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))
