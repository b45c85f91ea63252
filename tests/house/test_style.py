"""What a tool can see of the house's style: names, sizes, docstrings; where time, chance and files belong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.layers import deciding_packages
from tests.house.sources import PACKAGE, ROOT, python_files, shown, tracked_files, tree_of

NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
LONGEST_FILE = 600
LONGEST_FUNCTION = 80

WHOSE_JOB_IT_IS = {
    PACKAGE / "clock.py",
    PACKAGE / "storage" / "disk.py",
    PACKAGE / "settings" / "sources.py",  # reads files of properties
    PACKAGE / "streams" / "changelog_follower.py",  # beside an application, for interactive queries
    PACKAGE / "streams" / "resetting.py",  # likewise, for the command line
    PACKAGE / "connect" / "api" / "retries.py",  # pauses of many tasks must not fall together
    PACKAGE / "connect" / "connectors" / "mongodb" / "documents.py",  # an id that is asked to be chance
}
"""In all other modules of packages that decide, nothing reads a clock, draws a number or opens a file: the
simulator owns all three. A `Random` may be handed in and drawn from; making one without a seed is chance
again."""

IMPURE_MODULES = {"time", "random", "secrets"}
IMPURE_CALLS = {
    "open",
    "io.open",
    "os.open",
    "os.urandom",
    "uuid.uuid1",
    "uuid.uuid4",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "date.today",
    "datetime.date.today",
}

# Written so that this file does not match itself.
MACHINE_PATHS = re.compile(
    r"(?<![\w.~}>])/(?:w[o]rk|r[o]ot|h[o]me/\w+|U[s]ers/\w+|t[m]p(?!/kafka-logs))(?:/|\b)"
)
PACKAGE_INDEXES = re.compile(
    r"py[p]i\.|python[h]osted|arti[f]actory|jfr[o]g|nex[u]s\.|index[-]url|find[-]links"
)


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    offences = [
        shown(path)
        for path in python_files(ROOT)
        if NAMES_THAT_SAY_NOTHING & {part.removesuffix(".py") for part in path.relative_to(ROOT).parts}
    ]
    assert not offences, "\n".join(["", *offences])


def test_every_module_says_what_lives_in_it() -> None:
    offences = [
        shown(path)
        for path in python_files(ROOT)
        if tree_of(path).body
        and not ast.get_docstring(tree_of(path))  # an empty file holds nothing to be told
    ]
    assert not offences, "\n".join(["", *offences])


def test_no_file_is_too_long_to_be_read_in_one_go() -> None:
    lengths = {shown(path): len(path.read_text().splitlines()) for path in python_files(PACKAGE)}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_too_long_to_be_seen_at_once() -> None:
    offences = [
        f"{shown(path, node.lineno)} {node.name} has {length} lines"
        for path in python_files(PACKAGE)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]
    assert not offences, "\n".join(["", *offences])


def test_decisions_read_no_clock_draw_no_number_and_open_no_file() -> None:
    places = [PACKAGE / name for name in deciding_packages()]
    places += [PACKAGE / f"{name}.py" for name in deciding_packages()]
    offences = [
        f"{shown(path, line)} uses {what}"
        for path in python_files(*places)
        if path not in WHOSE_JOB_IT_IS
        for line, what in impurities(tree_of(path))
    ]
    assert not offences, "\n".join(["", *offences])


def test_each_exception_still_needs_to_be_one() -> None:
    assert [shown(path) for path in WHOSE_JOB_IT_IS if not list(impurities(tree_of(path)))] == []


def test_a_generator_that_was_handed_in_is_pure_and_one_without_a_seed_is_not() -> None:
    pure = "from random import Random\ndef draw(random: Random): return random.randrange(3)\nRandom(7)\n"
    assert list(impurities(ast.parse(pure))) == []
    assert list(impurities(ast.parse("Random()"))) == [(1, "Random")]


def test_impurities_are_found_in_each_of_their_forms() -> None:
    source = (
        "import time, os.path\nfrom random import choice\nopen('x')\nos.urandom(1)\nx.open()\nuuid.uuid4()\n"
    )
    assert [what for _, what in impurities(ast.parse(source))] == [
        "time",
        "random",
        "open",
        "os.urandom",
        "uuid.uuid4",
    ]


def test_no_tracked_file_names_a_machine_or_a_package_index() -> None:
    offences = [
        f"{shown(path, number)}: {line.strip()[:80]}"
        for path in tracked_files()
        for number, line in enumerate(_lines(path), start=1)
        if MACHINE_PATHS.search(line) or PACKAGE_INDEXES.search(line)
    ]
    assert not offences, "\n".join(["", *offences])


def test_machine_paths_and_package_indexes_are_recognised() -> None:
    machines = [text.replace("|", "/") for text in ("|work|main", "cd |root", "'|home|ann|x'", "|tmp|x")]
    assert [text for text in machines if not MACHINE_PATHS.search(text)] == []
    others = ("/tmp/kafka-logs", "frame/work", "~/work", "/roots", "$HOME/tmp/x")
    assert [text for text in others if MACHINE_PATHS.search(text)] == []
    assert PACKAGE_INDEXES.search("py" + "pi.org")


def impurities(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each use of a clock, of chance or of a file, in the order of the source."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names} & IMPURE_MODULES
        elif isinstance(node, ast.ImportFrom) and [alias.name for alias in node.names] != ["Random"]:
            names = {(node.module or "").partition(".")[0]} & IMPURE_MODULES
        elif isinstance(node, ast.Call):
            names = {_dotted(node.func)} & (IMPURE_CALLS if node.args else IMPURE_CALLS | {"Random"})
        else:
            continue
        found += [(node.lineno, name) for name in names]
    yield from sorted(found)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except UnicodeDecodeError:  # a picture, or a golden file of bytes
        return []
