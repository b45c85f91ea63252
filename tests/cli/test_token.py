"""`penstock token`: delegation tokens are made, listed, renewed, used and ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.kafka.starting import run as run_kafkas
from penstock.cli.kafka.topics import topics
from penstock.cli.main import run
from tests.cli.guarded import Guarded


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert run(list(words)) == 0
    return capsys.readouterr().out


def test_a_token_lives_and_dies(guarded: Guarded, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    login = guarded.alice()
    made = json.loads(
        said(capsys, "token", "create", "--renewer", "bob", "--max-hours", "2", "--json", *login)
    )
    assert (made["owner"], made["renewers"]) == ("User:alice", "User:bob")
    listed = said(capsys, "token", "list", *login)
    assert made["token_id"] in listed
    assert made["hmac"] not in listed
    file = tmp_path / "hmac"
    file.write_text(made["hmac"] + "\n")
    assert said(capsys, "token", "renew", "--hmac-file", str(file), "--hours", "1", *login).startswith(
        "renewed"
    )
    by_token = guarded.login(made["token_id"], made["hmac"], "SCRAM-SHA-512", ' tokenauth="true"')
    assert run_kafkas(topics, ["--bootstrap-server", guarded.sasl, *by_token, "--list"]) == 0
    assert run(["topic", "list", *by_token]) == 1
    assert "librdkafka cannot use delegation tokens" in capsys.readouterr().err
    login = guarded.alice()
    assert said(capsys, "token", "expire", "--hmac-file", str(file), *login).startswith("expired")
    assert made["token_id"] not in said(capsys, "token", "list", *login)
    assert run(["token", "renew", "--hmac-file", str(file), *login]) == 1


def test_a_file_without_an_hmac_is_named(
    guarded: Guarded, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "hmac"
    file.write_text("no base 64!")
    assert run(["token", "renew", "--hmac-file", str(file), *guarded.alice()]) == 1
    assert "holds no HMAC" in capsys.readouterr().err
