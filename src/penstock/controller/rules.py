"""What topics say of elections, as of an image: asked by every decision that changes partitions."""

from __future__ import annotations

from collections.abc import Callable

from penstock.controller.configs import effective_settings
from penstock.controller.image import Image
from penstock.controller.partition_changes import Rules
from penstock.settings import BrokerSettings, TopicSettings

RulesOf = Callable[[str], Rules]
"""What a topic of this name says of elections."""


def rules_of(image: Image, static: BrokerSettings) -> RulesOf:
    """Topics that say nothing of their own share one answer: thousands of partitions change at once."""
    defaults = effective_settings(static, image).topic_defaults
    plain = _rules(defaults)

    def of_topic(name: str) -> Rules:
        own = image.topic_config(name)
        return _rules(TopicSettings.from_overrides(own, defaults)) if own else plain

    return of_topic


def _rules(settings: TopicSettings) -> Rules:
    return Rules(settings.min_insync_replicas, settings.unclean_leader_election_enable)
