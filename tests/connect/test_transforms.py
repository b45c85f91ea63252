"""The configurations that tutorials print, before and after; chains with predicates; and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connect.data.record import ConnectRecord, Header
from penstock.connect.errors import ConfigError
from penstock.connect.transforms.chain import TransformChain

ORDER = {"id": 17, "customer": "Ada", "card": "4111-1111", "total": 9.5}


def apply(config: dict[str, str], value: Any = ORDER, **more: Any) -> ConnectRecord | None:
    return TransformChain.of(config).apply(ConnectRecord("orders", value=value, **more))


def one(kind: str, **settings: str) -> dict[str, str]:
    named = {f"transforms.it.{name.replace('_', '.')}": value for name, value in settings.items()}
    return {"transforms": "it", "transforms.it.type": f"org.apache.kafka.connect.transforms.{kind}", **named}


@pytest.mark.parametrize(
    ("config", "topic", "key", "value"),
    [
        (
            one("ReplaceField$Value", exclude="card"),
            *("orders", None, {"id": 17, "customer": "Ada", "total": 9.5}),
        ),
        (
            one("ReplaceField$Value", blacklist="card"),
            *("orders", None, {"id": 17, "customer": "Ada", "total": 9.5}),
        ),
        (
            one("ReplaceField$Value", renames="customer:name"),
            *("orders", None, {"id": 17, "name": "Ada", "card": "4111-1111", "total": 9.5}),
        ),
        (
            one("MaskField$Value", fields="card", replacement="****"),
            *("orders", None, {**ORDER, "card": "****"}),
        ),
        (one("ValueToKey", fields="id"), "orders", {"id": 17}, ORDER),
        (one("ExtractField$Value", field="customer"), "orders", None, "Ada"),
        (one("RegexRouter", regex="(.*)", replacement="shop-$1"), "shop-orders", None, ORDER),
    ],
)
def test_what_tutorials_print(config: dict[str, str], topic: str, key: Any, value: Any) -> None:
    done = apply(config)
    assert done is not None
    assert (done.topic, done.key, done.value) == (topic, key, value)


def test_transforms_are_applied_in_order() -> None:
    done = apply(
        {
            "transforms": "key,id",
            "transforms.key.type": "ValueToKey",
            "transforms.key.fields": "id",
            "transforms.id.type": "ExtractField$Key",
            "transforms.id.field": "id",
        }
    )
    assert done is not None
    assert done.key == 17


@pytest.mark.parametrize(("negate", "dropped"), [("false", True), ("true", False)])
def test_a_filter_drops_what_its_predicate_finds(negate: str, dropped: bool) -> None:
    config = {
        **one("Filter", predicate="gone", negate=negate),
        "predicates": "gone",
        "predicates.gone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    }
    assert (apply(config, None) is None) is dropped
    assert (apply(config, ORDER) is None) is not dropped


def test_predicates_look_at_topics_and_headers() -> None:
    by_topic = {
        **one("Filter", predicate="p"),
        "predicates": "p",
        "predicates.p.type": "TopicNameMatches",
        "predicates.p.pattern": "ord.*",
    }
    by_header = {
        **one("Filter", predicate="p"),
        "predicates": "p",
        "predicates.p.type": "HasHeaderKey",
        "predicates.p.name": "skip",
    }
    assert apply(by_topic) is None
    assert apply(by_header) is not None
    assert apply(by_header, headers=(Header("skip", b"1"),)) is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (one("Nonesuch"), "Class org.apache.kafka.connect.transforms.Nonesuch could not be found"),
        (one("MaskField", fields="a"), r"MaskField\$Key or MaskField\$Value"),
        (one("MaskField$Value"), 'Missing required configuration "fields"'),
        (one("RegexRouter", regex="(", replacement="x"), "Invalid regex"),
        (one("RegexRouter", regex="a", replacement="$3"), "No group 3"),
        (one("Cast$Value", spec="a:decimal"), "does not support casting to/from decimal"),
        (one("Filter", predicate="nope"), "No such predicate"),
        (one("Filter", negate="true"), "no config 'predicate' to negate"),
        ({"transforms": "a,a"}, "Duplicate alias"),
        ({"transforms": "a"}, "Not a Transformation"),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_reason(config: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        TransformChain.of(config)
