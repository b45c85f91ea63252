"""`penstock sql test FILE…` and `ksql-test-runner`: statements tried in process, without broker and Spark."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import click

from penstock.cli.output import print_json
from penstock.cli.sql_server import sql
from penstock.sql.testing import BadCase, Case, Result, read_cases, run_case
from penstock.sql.testing.runner_files import case_of_files


@sql.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--name", help="Only cases whose name has this text.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def test(context: click.Context, files: tuple[Path, ...], name: str | None, as_json: bool) -> None:
    """Run the cases of FILES, and show every difference between what came out and what was expected.

    A file holds {"tests": [{"name", "statements", "inputs", "outputs", "topics", "properties",
    "expectedException"}]}; a directory stands for all .json files in it. The exit code is 1 if a case fails.
    """
    began = time.monotonic()
    results = [
        (path, _run(case)) for path in _paths(files) for case in _cases(path) if (name or "") in case.name
    ]
    seconds = time.monotonic() - began
    failed = sum(not result.passed for _, result in results)
    if as_json:
        print_json(_document(results, failed, seconds))
    else:
        _print(results, failed, seconds)
    context.exit(1 if failed else 0)


def _paths(files: Iterable[Path]) -> list[Path]:
    return [path for file in files for path in (sorted(file.rglob("*.json")) if file.is_dir() else [file])]


def _cases(path: Path) -> list[Case]:
    try:
        return read_cases(path)
    except BadCase as error:
        raise click.ClickException(str(error)) from error


def _run(case: Case) -> Result:
    try:
        return run_case(case)
    except Exception as error:  # a bug of ours is a failed case, and the others still run
        return Result(case.name, (f"failed within Penstock: {type(error).__name__}: {error}",))


def _document(results: list[tuple[Path, Result]], failed: int, seconds: float) -> dict[str, Any]:
    return {
        "passed": len(results) - failed,
        "failed": failed,
        "seconds": round(seconds, 3),
        "tests": [
            {
                "file": str(path),
                "name": result.name,
                "passed": result.passed,
                "differences": list(result.differences),
                "log": list(result.log),
            }
            for path, result in results
        ],
    }


def _print(results: list[tuple[Path, Result]], failed: int, seconds: float) -> None:
    for path, result in results:
        if result.passed:
            continue
        click.echo(f"{path}: {result.name}")
        for difference in result.differences:
            click.echo(f"  {difference}")
        for line in result.log:
            click.echo(f"  log: {line}")
    click.echo(f"{len(results) - failed} passed, {failed} failed in {seconds:.1f} s")


@click.command()
@click.option(
    "-s", "--sql-file", required=True, type=click.Path(exists=True, path_type=Path), help="The statements."
)
@click.option("-i", "--input-file", type=click.Path(exists=True, path_type=Path), help="Records that go in.")
@click.option(
    "-o", "--output-file", required=True, type=click.Path(exists=True, path_type=Path),
    help="Records that must come out.",
)  # fmt: skip
@click.option("-e", "--extension-dir", hidden=True, help="Taken and not used: there are no Java functions.")
def test_runner(
    sql_file: Path, input_file: Path | None, output_file: Path, extension_dir: str | None
) -> None:
    """Try the statements of a file, as Confluent's ksql-test-runner does."""
    try:
        result = _run(case_of_files(sql_file, input_file, output_file))
    except BadCase as error:
        raise click.ClickException(str(error)) from error
    if result.passed:
        click.echo("\t >>> Test passed!")
        return
    click.echo("\t >>>>> Test failed: " + "\n\t  ".join(result.differences))
    raise click.exceptions.Exit(1)


def main() -> NoReturn:
    """What `ksql-test-runner` calls."""
    test_runner.main(prog_name="ksql-test-runner")
    sys.exit(0)
