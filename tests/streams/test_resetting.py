"""Which topics are an application's own. The rest is tested through the command line."""

from __future__ import annotations

import pytest

from penstock.streams.resetting import is_internal_of


@pytest.mark.parametrize(
    "topic",
    [
        "app-counts-changelog",
        "app-counts-repartition",
        "app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
        "app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
        "app-named-subscription-response-topic",
    ],
)
def test_internal_topics_are_known_by_their_names(topic: str) -> None:
    assert is_internal_of("app", topic)


@pytest.mark.parametrize("topic", ["app-output", "application-counts-changelog", "app", "other-changelog"])
def test_what_a_user_has_made_is_left_alone(topic: str) -> None:
    assert not is_internal_of("app", topic)


def test_an_application_whose_id_begins_alike_keeps_its_topics() -> None:
    assert not is_internal_of("app", "app-v2-counts-changelog", ["app-v2"])
    assert is_internal_of("app-v2", "app-v2-counts-changelog", [])
