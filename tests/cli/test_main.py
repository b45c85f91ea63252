"""Exit codes and sentences of the command line; what starting a command loads."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from penstock import __version__
from penstock.cli.main import COMMANDS, run
from tests.cli.commands import closed_port, penstock


def test_help_names_every_command_and_loads_none() -> None:
    said = penstock("--help")
    assert said.code == 0
    for name in COMMANDS:
        assert f"  {name}" in said.out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: penstock {name}")


def test_the_version_is_printed_for_people_and_programs() -> None:
    assert penstock("version").out == f"penstock {__version__}\n"
    assert json.loads(penstock("version", "--json").out)["version"] == __version__


@pytest.mark.parametrize(
    "arguments",
    [
        ("fly",),
        ("topic", "list", "--fast"),
        ("consume",),
        ("broker", "--listen", "9092"),
        ("up", "--run", "none.py"),
    ],
)
def test_a_mistake_on_the_command_line_is_exit_code_2(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert "Error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [("topic", "list"), ("topic", "create", "t"), ("consume", "t"), ("produce", "t")]
)
def test_an_unreachable_broker_is_one_sentence_within_the_deadline(arguments: tuple[str, ...]) -> None:
    address = f"127.0.0.1:{closed_port()}"
    said = penstock(*arguments, "--bootstrap-servers", address, "--timeout", "0.5", stdin=b"x\n")
    assert said.code == 1
    assert said.err.count("\n") == 1
    assert f"No broker answered at {address} within 0.5 s" in said.err


def test_a_broker_command_loads_no_client_no_spark_and_no_table() -> None:
    source = (
        "import sys\n"
        "from penstock.cli.main import run\n"
        "run(['broker', '--help'])\n"
        "import penstock.server.main\n"
        "heavy = {'confluent_kafka', 'rich', 'pyspark', 'numpy', 'pyarrow', 'nicegui', 'asyncio'}\n"
        "print('loaded', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded []"
