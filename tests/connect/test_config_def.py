"""Settings of connectors: Kafka's types, defaults and words for mistakes."""

from __future__ import annotations

import pytest

from penstock.connect.api.config_def import ConfigDef, Kind, at_least, one_of
from penstock.connect.errors import ConfigError

DEFINED = (
    ConfigDef()
    .define("topic", Kind.STRING)
    .define("size", Kind.INT, 10, validator=at_least(1))
    .define("mode", Kind.STRING, "bulk", validator=one_of("bulk", "query"))
    .define("names", Kind.LIST, [])
    .define("secret", Kind.PASSWORD, None)
    .define("on", Kind.BOOLEAN, False)
)


def test_texts_become_typed_values_and_defaults_stand_in() -> None:
    parsed = DEFINED.parse({"topic": "t", "size": " 3 ", "names": "a, b", "on": "TRUE"})
    assert parsed == {
        "topic": "t", "size": 3, "mode": "bulk", "names": ["a", "b"], "secret": None, "on": True,
    }  # fmt: skip


def test_every_mistake_is_reported_at_once_in_kafkas_words() -> None:
    errors = [e for v in DEFINED.validate({"size": "0", "mode": "x", "on": "maybe"}) for e in v.errors]
    assert errors == [
        'Missing required configuration "topic" which has no default value.',
        "Invalid value 0 for configuration size: Value must be at least 1",
        "Invalid value x for configuration mode: String must be one of: bulk, query",
        "Invalid value maybe for configuration on: Expected value to be either true or false",
    ]


@pytest.mark.parametrize("text", ["a", "1.5", "3000000000"])
def test_what_is_no_int_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="Not a number of type INT"):
        DEFINED.parse({"topic": "t", "size": text})


def test_a_password_is_never_shown() -> None:
    shown = {v.key.name: v.shown() for v in DEFINED.validate({"topic": "t", "secret": "hunter2"})}
    assert shown["secret"]["value"]["value"] == "[hidden]"
    assert "hunter2" not in str(shown)
