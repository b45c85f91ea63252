"""`penstock schema …` against a registry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.main import run
from tests.registry.processes import RegistryProcess


def test_a_schema_is_registered_checked_listed_read_and_deleted(
    registry: RegistryProcess, subject: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def penstock(*arguments: str) -> tuple[int, str]:
        code = run(["schema", *arguments, "--registry", registry.url])
        said = capsys.readouterr()
        return code, said.out + said.err

    good, bad = tmp_path / "good.avsc", tmp_path / "bad.avsc"
    good.write_text('{"type": "enum", "name": "Colour", "symbols": ["RED"]}')
    bad.write_text('"string"')
    code, said = penstock("register", subject, str(good))
    assert (code, said.startswith(f"{subject} version 1 has id ")) == (0, True)
    assert penstock("check", subject, str(good)) == (0, "compatible\n")
    code, said = penstock("check", subject, str(bad))
    assert (code, said.splitlines()[0], "TYPE_MISMATCH" in said) == (1, "incompatible", True)
    assert penstock("register", subject, str(bad))[0] == 1
    assert penstock("list", "--prefix", subject)[1].split("\t")[:2] == [subject, "1"]
    assert json.loads(penstock("list", "--prefix", subject, "--json")[1])["version"] == 1
    assert penstock("get", subject)[1] == '{"type":"enum","name":"Colour","symbols":["RED"]}\n'
    assert penstock("delete", subject) == (0, f"{subject} version 1 deleted\n")
    assert penstock("delete", subject, "--permanent", "--json")[0] == 0
    code, said = penstock("get", subject)
    assert (code, "not found" in said) == (1, True)


def test_a_registry_that_is_not_there_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "list", "--registry", "http://127.0.0.1:1"]) == 1
    assert "no registry answers" in capsys.readouterr().err
