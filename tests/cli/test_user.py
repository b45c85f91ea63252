"""`penstock user`: passwords are made and changed, and never said."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.cli.main import run
from tests.cli.commands import CommandLine
from tests.cli.guarded import Guarded


def test_a_user_is_created_logs_in_and_is_deleted(
    guarded: Guarded, as_super_user: CommandLine, tmp_path: Path
) -> None:
    cli = as_super_user
    made = cli("user", "create", "bob", stdin=b"bobs\n")
    assert (made.code, made.out) == (0, "bob created\n")
    assert cli("acl", "grant", "bob", "describe", "--cluster").code == 0
    assert run(["topic", "list", *guarded.login("bob", "bobs")]) == 0
    assert "bob\tSCRAM-SHA-512 (8192)" in cli("user", "list").out.splitlines()
    again = cli("user", "create", "bob", stdin=b"other\n")
    assert again.code == 1
    assert "exists already" in again.err
    file = tmp_path / "password"
    file.write_text("new one\n")
    assert cli("user", "password", "bob", "--password-file", str(file)).code == 0
    assert run(["topic", "list", *guarded.login("bob", "bobs")]) == 1
    assert run(["topic", "list", *guarded.login("bob", "new one")]) == 0
    assert cli("user", "delete", "bob").out == "bob deleted\n"
    assert run(["topic", "list", *guarded.login("bob", "new one")]) == 1
    for words in (("delete", "bob"), ("password", "bob")):
        missing = cli("user", *words, stdin=b"x\n")
        assert missing.code == 1
        assert "There is no user named 'bob'" in missing.err


def test_a_password_is_made_and_printed_once(guarded: Guarded, as_super_user: CommandLine) -> None:
    made = as_super_user(
        *("user", "create", "made", "--generate", "--json"),
        *("--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512", "--iterations", "4096"),
    )
    found = json.loads(made.out)
    assert len(found["password"]) >= 32
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        assert run(["topic", "list", *guarded.login("made", found["password"], mechanism)]) == 0
    listed = [json.loads(line) for line in as_super_user("user", "list", "--json").out.splitlines()]
    assert {"name": "made", "mechanisms": {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 4096}} in listed


def test_an_empty_password_is_refused(as_super_user: CommandLine) -> None:
    said = as_super_user("user", "create", "empty")
    assert said.code == 2
    assert "The password is empty" in said.err


def test_a_user_without_rights_is_told(guarded: Guarded, as_super_user: CommandLine) -> None:
    as_super_user("user", "create", "low", stdin=b"lows\n")
    assert run(["user", "list", *guarded.login("low", "lows")]) == 1
