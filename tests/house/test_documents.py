"""Documents stay true: what they refer to exists, and the commands that they show can be typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from penstock.cli.main import root
from tests.house.sources import PACKAGE, ROOT, documents, shown, tree_of

SYMBOL = re.compile(r"`([\w./-]+\.pyx?):([A-Za-z_][\w.]*)`")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)

PROMISED_TARGETS = {"install", "run", "test", "check", "bench", "sim", "faults", "help", "clean"}


def test_every_symbol_that_a_document_names_exists() -> None:
    offences = [
        f"{shown(document)}: {path}:{symbol}"
        for document in documents()
        for path, symbol in SYMBOL.findall(document.read_text())
        if not symbol_exists(path, symbol)
    ]
    assert not offences, "\n".join(["", *offences])


def test_every_link_between_documents_leads_somewhere() -> None:
    offences = [
        f"{shown(document)}: {link}"
        for document in documents()
        for link in LINK.findall(FENCE.sub("", document.read_text()))
        if not (document.parent / link).exists()
    ]
    assert not offences, "\n".join(["", *offences])


def test_lines_of_documents_are_wrapped_at_100() -> None:
    """Tables, code and pictures may be longer. Evidence is kept as it was written."""
    offences = [
        f"{shown(document)}: {line[:80]}…"
        for document in documents()
        if "evidence" not in document.parts
        for line in FENCE.sub("", document.read_text()).splitlines()
        if len(line) > 100 and not line.lstrip().startswith(("|", "![")) and " " in line[:100].strip()
    ]
    assert not offences, "\n".join(["", *offences])


def test_make_has_every_target_that_was_promised_or_is_shown() -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    shown_targets = {words[1] for words in commands() if words[0] == "make" and len(words) > 1}
    assert (PROMISED_TARGETS | shown_targets) - targets == set()


def test_penstock_has_every_command_and_option_that_is_shown() -> None:
    offences = [
        f"{' '.join(words)}: {offence}"
        for words in [*commands(), *commands_of_the_makefile()]
        if Path(words[0]).name == "penstock"
        for offence in unknown_words(words[1:])
    ]
    assert not offences, "\n".join(["", *offences])


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("topic list", []),
        ("broker --listen HOST:PORT --data DIR", []),
        ("topic nonesuch", ["nonesuch"]),
        ("broker --nonesuch 1", ["--nonesuch"]),
    ],
)
def test_commands_are_looked_up_in_the_command_line_itself(line: str, unknown: list[str]) -> None:
    assert list(unknown_words(line.split())) == unknown


def test_python_examples_can_be_compiled() -> None:
    for document in documents():
        for language, text in FENCE.findall(document.read_text()):
            if language == "python":
                compile(text, shown(document), "exec")


@pytest.mark.parametrize(
    ("symbol", "exists"),
    [("SYMBOL", True), ("symbol_exists", True), ("nonesuch", False), ("Path.nonesuch", False)],
)
def test_symbols_are_looked_up_in_the_source(symbol: str, exists: bool) -> None:
    assert symbol_exists("tests/house/test_documents.py", symbol) is exists


def commands() -> Iterator[list[str]]:
    """The words of each command that a document shows, in a shell block or between backticks."""
    for document in documents():
        text = document.read_text()
        blocks = [block for language, block in FENCE.findall(text) if language in ("sh", "bash", "console")]
        lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
        for line in lines + CODE.findall(FENCE.sub("", text)):
            words = line.partition("#")[0].rpartition("|")[2].split()
            if words:
                yield words


def commands_of_the_makefile() -> Iterator[list[str]]:
    for line in (ROOT / "Makefile").read_text().splitlines():
        if line.startswith("\t$(BIN)/penstock "):
            yield line.split()


def unknown_words(words: list[str]) -> Iterator[str]:
    """The words of a `penstock` command line that name no command and no option."""
    command: click.Command = root
    context = click.Context(root)
    left = iter(words)
    for word in left:
        name, _, value = word.partition("=")
        if name.startswith("--"):
            known = [
                option
                for option in command.get_params(context)
                if name in (*option.opts, *option.secondary_opts)
            ]
            if not known:
                yield name
            elif not value and not getattr(known[0], "is_flag", False):
                next(left, None)
        elif isinstance(command, click.Group):
            found = command.get_command(context, name)
            if found is None:
                yield name
                return
            command = found
            context = click.Context(command, parent=context)


def symbol_exists(path: str, symbol: str) -> bool:
    for file in (ROOT / path, PACKAGE / path):
        if file.is_file():
            return _defined_in(file, symbol)
    return False


def _defined_in(file: Path, symbol: str) -> bool:
    if file.suffix == ".pyx":  # Cython is no Python; its definitions stand one to a line
        return (
            re.search(rf"^\s*(?:c?p?def|class)\b.*\b{symbol}\b", file.read_text(), re.MULTILINE) is not None
        )
    body: list[ast.stmt] | None = tree_of(file).body
    for name in symbol.split("."):
        found = [node for node in body or [] if name in _names(node)]
        if not found:
            return False
        body = getattr(found[-1], "body", None)
    return True


def _names(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return set()
