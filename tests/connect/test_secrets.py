"""Secrets never leave a worker: not in what is shown, not in errors and traces."""

from __future__ import annotations

import base64
from typing import ClassVar

from penstock.connect.api import ConfigDef, Kind, SourceConnector
from penstock.connect.api.config_def import ConfigValue
from penstock.connect.config.validation import Validated
from penstock.connect.plugins import Plugin
from penstock.connect.worker.herder import no_connector_type
from penstock.connect.worker.secrets import (
    merged_secrets,
    redacted,
    validation_shown,
    without_secrets,
)


class Secretive(SourceConnector):
    CONFIG: ClassVar = ConfigDef().define("pin", Kind.PASSWORD).define("place", Kind.STRING, "")


PLUGIN = Plugin("Secretive", Secretive, "here")
SHOWN = {
    "pin": "1234567", "connection.password": "hunter2", "user": "me", "place": "${file:/s.properties:place}",
    "connection.url": "postgresql://me:pw-in-url@db/shop", "other.url": "jdbc:x://db/s?password=pw-in-query&a=b",
    "api.key": "k-1", "sasl.jaas.config": "x y=z",
}  # fmt: skip
RESOLVED = {**SHOWN, "place": "from-the-vault"}
SECRETS = ("1234567", "hunter2", "from-the-vault", "pw-in-url", "pw-in-query", "k-1", "x y=z")


def test_a_configuration_is_shown_without_its_secrets() -> None:
    found = without_secrets(SHOWN, PLUGIN)
    assert not [secret for secret in SECRETS if secret in str(found)]
    assert (found["user"], found["place"]) == ("me", SHOWN["place"])
    assert found["connection.url"] == "postgresql://me:[hidden]@db/shop"
    assert found["other.url"] == "jdbc:x://db/s?password=[hidden]&a=b"


def test_a_validation_shows_variables_and_not_their_values() -> None:
    key = Secretive.CONFIG.keys[1]
    value = ConfigValue(key, "from-the-vault", ["Invalid value from-the-vault for configuration place"])
    found = validation_shown(Validated("Secretive", [value], []), SHOWN, RESOLVED, PLUGIN).shown()
    assert "from-the-vault" not in str(found)
    assert found["configs"][0]["value"]["value"] == SHOWN["place"]


def test_a_configuration_that_comes_back_keeps_what_was_hidden() -> None:
    back = {**without_secrets(SHOWN, PLUGIN), "user": "you"}
    assert merged_secrets(back, SHOWN) == {**SHOWN, "user": "you"}


def test_parts_and_spellings_of_secrets_are_hidden_too() -> None:
    """A library names what it was given: the password alone, in an address, or as a header."""
    jaas = 'x.PlainLoginModule required username="me" password="in the entry";'
    config = {
        **RESOLVED, "connection.password": 'p&ss "word"', "sasl.jaas.config": jaas, "connection.user": "me",
        "basic.auth.user.info": "me:of-user-info", "connection.uri": "mongodb://me:in%20address@db/",
    }  # fmt: skip
    basic = base64.b64encode(b'me:p&ss "word"').decode()
    said = (
        "refused: in the entry", "refused: of-user-info", f"Authorization: Basic {basic}",
        "p%26ss+%22word%22", "p%26ss%20%22word%22", '{"x": "p&ss \\"word\\""}', "refused: in address",
    )  # fmt: skip
    for text in said:
        found = redacted(text, config, config, PLUGIN)
        assert "[hidden]" in found, text


def test_traces_and_logs_have_no_secrets() -> None:
    trace = f"OperationalError: could not log in with {RESOLVED}"
    found = redacted(trace, RESOLVED, SHOWN, PLUGIN)
    assert not [secret for secret in SECRETS if secret in found]
    assert "'user': 'me'" in found


def test_a_refused_configuration_is_quoted_without_secrets() -> None:
    assert not [secret for secret in ("hunter2", "pw-in-url", "k-1") if secret in no_connector_type(SHOWN)]
