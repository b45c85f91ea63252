"""What ARCHITECTURE.md says of packages, layers and threads is so in pyproject.toml and in the code."""

from __future__ import annotations

import ast

from tests.house.layers import deciding_packages, layers, map_rows, packages
from tests.house.sources import PACKAGE, ROOT, python_files, tree_of
from tests.house.test_documents import SYMBOL

STARTS_A_THREAD = {"Thread", "ThreadPoolExecutor"}


def test_every_package_has_one_layer() -> None:
    named = [name for layer in layers() for name in layer]
    assert sorted(named) == sorted(packages())


def test_the_map_has_every_package_in_the_order_of_the_layers() -> None:
    order = {name: place for place, layer in enumerate(layers()) for name in layer}
    shown = [name for row in map_rows() for name in row.packages]
    assert sorted(shown) == sorted(packages())
    assert [order[name] for name in shown] == sorted(order[name] for name in shown), "\n".join(shown)


def test_packages_on_one_line_of_the_map_do_not_see_each_other() -> None:
    lines = [set(row.packages) for row in map_rows()]
    assert [line for line in lines if not any(line <= layer for layer in layers())] == []


def test_below_the_server_nothing_blocks_but_what_owns_a_disk_or_a_socket() -> None:
    below = set().union(*layers()[layers().index({"server"}) + 1 :])
    assert below - deciding_packages() == {"wire"}


def test_the_threads_of_a_broker_are_those_that_the_page_lists() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    section = page.partition("## Threads and locks")[2].partition("\n## ")[0]
    rows = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    listed = {path for path, _ in SYMBOL.findall(rows)}
    assert listed == {
        path.relative_to(PACKAGE).as_posix()
        for path in python_files(PACKAGE / "server")
        if starts_a_thread(tree_of(path))
    }


def starts_a_thread(tree: ast.Module) -> bool:
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls}
    return bool(names & STARTS_A_THREAD)


def test_threads_are_found_however_they_are_started() -> None:
    assert starts_a_thread(ast.parse("threading.Thread(target=f).start()"))
    assert starts_a_thread(ast.parse("with ThreadPoolExecutor(2): pass"))
    assert not starts_a_thread(ast.parse("FetcherThread(x)"))
