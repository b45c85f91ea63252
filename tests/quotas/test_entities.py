"""Which of several quotas holds: Kafka's eight levels."""

from __future__ import annotations

import pytest

from penstock.quotas.entities import Limit, Quotas, Scope, entity, find_ip_limit, find_limit

KEY = "producer_byte_rate"
LEVELS: list[tuple[dict[str, str | None], Scope]] = [
    ({"user": "u", "client-id": "c"}, Scope("u", "c")),
    ({"user": "u", "client-id": None}, Scope("u", "c")),
    ({"user": "u"}, Scope("u", "")),
    ({"user": None, "client-id": "c"}, Scope("u", "c")),
    ({"user": None, "client-id": None}, Scope("u", "c")),
    ({"user": None}, Scope("u", "")),
    ({"client-id": "c"}, Scope("", "c")),
    ({"client-id": None}, Scope("", "c")),
]


@pytest.mark.parametrize("strongest", range(len(LEVELS)))
def test_the_most_specific_quota_holds(strongest: int) -> None:
    quotas: Quotas = {
        entity(names): {KEY: 100.0 + level} for level, (names, _) in enumerate(LEVELS) if level >= strongest
    }
    assert find_limit(quotas, KEY, "u", "c") == Limit(LEVELS[strongest][1], 100.0 + strongest)


def test_quotas_of_others_and_of_other_kinds_do_not_hold() -> None:
    quotas: Quotas = {
        entity({"user": "v"}): {KEY: 1.0},
        entity({"client-id": "d"}): {KEY: 1.0},
        entity({"user": "u"}): {"consumer_byte_rate": 1.0},
    }
    assert find_limit(quotas, KEY, "u", "c") is None


def test_an_address_has_its_own_quota_or_the_one_of_all() -> None:
    key = "connection_creation_rate"
    quotas: Quotas = {(("ip", "1.2.3.4"),): {key: 3.0}, (("ip", None),): {key: 7.0}}
    assert find_ip_limit(quotas, key, "1.2.3.4") == 3
    assert find_ip_limit(quotas, key, "5.6.7.8") == 7
    assert find_ip_limit({}, key, "5.6.7.8") is None
