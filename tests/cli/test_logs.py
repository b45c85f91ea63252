"""Log lines of services: text for people, JSON lines for programs, with the id of the request."""

from __future__ import annotations

import json
import logging

import pytest

from penstock.cli.logs import JsonLines
from penstock.settings.log_context import CURRENT_REQUEST
from penstock.web.request_ids import REQUEST_ID, note_request, request_id


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("penstock.test", logging.WARNING, __file__, 1, message, (), None)


def test_a_line_is_json_with_the_request_that_it_belongs_to() -> None:
    with request_id({REQUEST_ID: "abc-1"}) as number:
        line = json.loads(JsonLines().format(record("disk is full")))
    assert number == "abc-1"
    assert {name: line[name] for name in ("level", "logger", "message", "request")} == {
        "level": "WARNING",
        "logger": "penstock.test",
        "message": "disk is full",
        "request": "abc-1",
    }
    assert line["time"].endswith("Z")
    assert "request" not in json.loads(JsonLines().format(record("later")))


def test_an_id_that_could_forge_a_line_is_replaced() -> None:
    with request_id({REQUEST_ID: "a\nERROR forged"}) as number:
        assert CURRENT_REQUEST.get() == number
        assert number.isalnum()


def test_a_slow_request_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "penstock.web.requests"):
        note_request("GET", "/subjects", 200, 5.0)
        note_request("GET", "/subjects", 200, 0.001)
    assert [entry.levelname for entry in caplog.records] == ["WARNING", "DEBUG"]
    assert "in 5000 ms" in caplog.records[0].getMessage()
