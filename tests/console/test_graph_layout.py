"""Graphs in layers, and topologies as graphs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.console.graph_layout import Edge, Graph, Node, laid_out
from penstock.console.plan_graph import plan_graph
from tests.console.fake_services import TOPOLOGY


def graph(names: list[str], edges: list[tuple[str, str]]) -> Graph:
    return Graph(tuple(Node(name, name, "topic") for name in names), tuple(Edge(*edge) for edge in edges))


def test_a_node_stands_behind_all_that_it_reads() -> None:
    made = laid_out(graph(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")]))
    at = {node["id"]: node["x"] for node in made["nodes"]}
    assert at["a"] < at["b"] < at["c"]


def test_edges_to_unknown_nodes_are_left_out() -> None:
    assert laid_out(graph(["a"], [("a", "nowhere")]))["edges"] == []


NAMES = [str(number) for number in range(8)]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=30))
def test_any_graph_also_with_cycles_gives_each_node_a_place_of_its_own(edges: list[tuple[str, str]]) -> None:
    made = laid_out(graph(NAMES, edges))
    places = {(node["x"], node["y"]) for node in made["nodes"]}
    assert len(places) == len(NAMES)
    assert all(0 <= x <= made["width"] and 0 <= y <= made["height"] for x, y in places)


def test_a_topology_s_text_becomes_steps_and_topics() -> None:
    made = plan_graph(TOPOLOGY)
    assert {(edge.source, edge.target) for edge in made.edges} == {
        ("topic orders", "KSTREAM-SOURCE-1"),
        ("KSTREAM-SOURCE-1", "KSTREAM-FILTER-2"),
        ("KSTREAM-FILTER-2", "KSTREAM-SINK-3"),
        ("KSTREAM-SINK-3", "topic payments"),
    }
