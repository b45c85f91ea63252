"""Reads /metrics as Prometheus does, with Prometheus' own parser."""

from __future__ import annotations

from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

Key = tuple[str, frozenset[tuple[str, str]]]


class Scraped:
    """`scraped("name", label="value")` is the number of that name with just these labels."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._values: dict[Key, float] = {}
        for family in self.families.values():
            for sample in family.samples:
                # The parser gives every counter the end `_total`, which JMX exporter's names do not have.
                name = sample.name if f"\n{sample.name}" in text else sample.name.removesuffix("_total")
                key = (name, frozenset(sample.labels.items()))
                assert key not in self._values, f"{key} is there twice"
                self._values[key] = sample.value

    def __call__(self, name: str, **labels: str) -> float:
        return self._values[name, frozenset(labels.items())]

    def __contains__(self, key: tuple[str, dict[str, str]]) -> bool:
        return (key[0], frozenset(key[1].items())) in self._values


def scrape(address: str) -> Scraped:
    with urlopen(f"http://{address}/metrics", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return Scraped(answer.read().decode())
