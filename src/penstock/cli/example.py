"""`penstock example [NAME]`: lists the examples, shows one, or runs it against a cluster."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

import penstock
from penstock.cli import profiles
from penstock.cli.output import print_json, print_table
from penstock.client.errors import ClientError

MAIN: Final = "__main__"
"""The file of a folder that `python FOLDER` runs."""


@click.command()
@click.argument("name", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--show", is_flag=True, help="Print its source instead of running it.")
@click.option("--bootstrap-servers", "--bootstrap-server", "servers", metavar="HOST:PORT,…")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def example(
    name: str | None, arguments: tuple[str, ...], show: bool, servers: str | None, as_json: bool
) -> int:
    """Without NAME, list the examples. With it, run that example; ARGUMENTS after `--` go to it.

    Examples in Python get the cluster's address; those in SQL are given to the SQL server at 127.0.0.1:8088.
    """
    if name is None:
        _list(as_json)
        return 0
    path = path_of(name)
    if show:
        click.echo(path.read_text(encoding="utf-8"), nl=False)
        return 0
    return subprocess.run(
        command(path, servers or profiles.bootstrap_servers(), arguments), check=False
    ).returncode


def _list(as_json: bool) -> None:
    rows = [(name_of(path), "SQL" if path.suffix == ".sql" else "Python", summary(path)) for path in paths()]
    if as_json:
        for stem, kind, text in rows:
            print_json({"name": stem, "kind": kind, "summary": text})
        return
    print_table("Examples", ("Example", "In", "Shows"), rows)


def command(path: Path, servers: str, arguments: tuple[str, ...]) -> list[str]:
    """What runs an example."""
    if path.suffix == ".sql":
        return [sys.executable, "-m", "penstock", "sql", "shell", "-f", str(path), *arguments]
    if path.stem == MAIN:
        return [sys.executable, str(path.parent), servers, *arguments]
    if path.parent.name == "client":  # the address is the first argument: they show the client alone
        return [sys.executable, str(path), servers, *arguments]
    return [sys.executable, str(path), "--bootstrap-servers", servers, *arguments]


def folder() -> Path:
    """The examples: inside an installed package, or beside the sources."""
    inside = Path(penstock.__file__).parent / "_examples"
    return inside if inside.is_dir() else Path(penstock.__file__).parents[2] / "examples"


def paths() -> list[Path]:
    """Those of one file, and of a folder the program that starts its services together."""
    found = [*folder().glob("*.py"), *folder().glob("client/*.py"), *folder().glob("sql/*.sql")]
    single = [path for path in found if not path.name.startswith("_") and _is_example(path)]
    return sorted([*single, *folder().glob(f"*/{MAIN}.py")], key=name_of)


def name_of(path: Path) -> str:
    return path.parent.name if path.stem == MAIN else path.stem


def _is_example(path: Path) -> bool:
    """A file of its own, not a module of one: it can be run, or it is SQL."""
    return path.suffix == ".sql" or MAIN in path.read_text(encoding="utf-8")


def path_of(name: str) -> Path:
    wanted = name.removesuffix(".py").removesuffix(".sql").replace("-", "_")
    for path in paths():
        if name_of(path) == wanted:
            return path
    raise ClientError(f"There is no example {name!r}. There are: {', '.join(map(name_of, paths()))}.")


def summary(path: Path) -> str:
    """Its first sentence."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        first = next((line for line in text.splitlines() if line.startswith("--")), "--")
        return first.lstrip("- ")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
