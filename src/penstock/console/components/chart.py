"""`Chart`: lines over time. The browser draws them; the server sends moments and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.console.components.live import Live

WAITING = "The first points appear within half a minute."


class Chart(Live, component="chart.js"):  # type: ignore[call-arg]
    def __init__(self, title: str, kind: str, waiting: str = WAITING) -> None:
        """`kind` is one of a `Column`'s: number, rate, bytes_rate, ms, seconds, percent."""
        super().__init__()
        self.series: dict[str, list[float | None]] = {}
        self._props["title"], self._props["kind"], self._props["waiting"] = title, kind, waiting

    def show(self, moments: Sequence[float], series: Mapping[str, Sequence[float | None]]) -> None:
        """`moments` are seconds since 1970; a None is a gap in its line."""
        self.series = {name: list(values) for name, values in series.items()}
        lines = [{"name": name, "values": values} for name, values in self.series.items()]
        if not self.client.has_socket_connection:
            with self._props.suspend_updates():
                self._props["moments"], self._props["series"] = list(moments), lines
        self.run_method("show", list(moments), lines)
