"""Secrets never leave a worker: not in what is shown, not in errors and traces."""

from __future__ import annotations

from typing import ClassVar

from penstock.connect.api import ConfigDef, Kind, SourceConnector
from penstock.connect.plugins import Plugin
from penstock.connect.worker.herder import no_connector_type
from penstock.connect.worker.secrets import merged_secrets, redacted, without_secrets


class Secretive(SourceConnector):
    CONFIG: ClassVar = ConfigDef().define("pin", Kind.PASSWORD).define("place", Kind.STRING, "")


PLUGIN = Plugin("Secretive", Secretive, "here")
SHOWN = {
    "pin": "1234567", "connection.password": "hunter2", "user": "me", "place": "${file:/s.properties:place}",
    "connection.url": "postgresql://me:pw-in-url@db/shop", "api.key": "k-1", "sasl.jaas.config": "x y=z",
}  # fmt: skip
RESOLVED = {**SHOWN, "place": "from-the-vault"}
SECRETS = ("1234567", "hunter2", "from-the-vault", "pw-in-url", "k-1", "x y=z")


def test_a_configuration_is_shown_without_its_secrets() -> None:
    found = without_secrets(SHOWN, PLUGIN)
    assert not [secret for secret in SECRETS if secret in str(found)]
    assert (found["user"], found["place"]) == ("me", SHOWN["place"])
    assert found["connection.url"] == "postgresql://me:[hidden]@db/shop"


def test_a_configuration_that_comes_back_keeps_what_was_hidden() -> None:
    back = {**without_secrets(SHOWN, PLUGIN), "user": "you"}
    assert merged_secrets(back, SHOWN) == {**SHOWN, "user": "you"}


def test_traces_and_logs_have_no_secrets() -> None:
    trace = f"OperationalError: could not log in with {RESOLVED}"
    found = redacted(trace, RESOLVED, SHOWN, PLUGIN)
    assert not [secret for secret in SECRETS if secret in found]
    assert "'user': 'me'" in found


def test_a_refused_configuration_is_quoted_without_secrets() -> None:
    assert not [secret for secret in ("hunter2", "pw-in-url", "k-1") if secret in no_connector_type(SHOWN)]
