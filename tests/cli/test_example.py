"""`penstock example`: every example is listed with its first sentence, shown and run."""

from __future__ import annotations

import json

import pytest

from penstock.cli.example import command, path_of, paths
from penstock.cli.main import run
from penstock.testing import Broker


def test_every_example_is_listed_with_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["example", "--json"]) == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"word_count", "fraud", "stock_statistics", "orders", "sending"} <= {
        each["name"] for each in listed
    }
    assert all(each["summary"] for each in listed)


def test_one_is_shown_and_what_runs_it_is_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["example", "word-count", "--show"]) == 0
    assert "StreamsBuilder" in capsys.readouterr().out
    words = command(path_of("word_count"), "127.0.0.1:1", ("--master", "local[1]"))
    assert words[1:] == [
        str(path_of("word_count")),
        "--bootstrap-servers",
        "127.0.0.1:1",
        "--master",
        "local[1]",
    ]
    assert command(path_of("fraud"), "x:1", ())[2:6] == ["penstock", "sql", "shell", "-f"]
    assert len(paths()) >= 10


def test_examples_of_the_client_get_the_address_first() -> None:
    assert command(path_of("sending"), "x:1", ("more",))[1:] == [str(path_of("sending")), "x:1", "more"]
    shop = path_of("orders").parent
    assert command(path_of("orders"), "x:1", ())[1:] == [str(shop), "x:1"]


def test_an_example_of_the_client_runs(capfd: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert run(["example", "sending", "--bootstrap-servers", broker.bootstrap_servers]) == 0
    assert "RecordMetadata" in capfd.readouterr().out


def test_an_example_that_is_not_there_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["example", "nothing"]) == 1
    assert "word_count" in capsys.readouterr().err
