"""`PipelineGraph`: a graph as SVG, with edges that move as records do."""

from __future__ import annotations

from typing import Any

from penstock.console.components.live import Live
from penstock.console.graph_layout import Graph, laid_out

NOTHING = {"title": "No pipelines yet", "text": "A consumer, a SQL query or a connector makes one."}


class PipelineGraph(Live, component="pipeline_graph.js"):  # type: ignore[call-arg]
    def __init__(self, title: str, empty: dict[str, str] | None = None) -> None:
        super().__init__()
        self.graph: dict[str, Any] = laid_out(Graph())
        self._props["title"], self._props["start"] = title, self.graph
        self._props["empty"] = empty or NOTHING

    def show(self, graph: Graph) -> None:
        made = laid_out(graph)
        if made == self.graph:
            return
        self.graph = made
        if not self.client.has_socket_connection:
            with self._props.suspend_updates():
                self._props["start"] = made
        self.run_method("show", made)
