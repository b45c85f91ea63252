"""A group of either protocol."""

from __future__ import annotations

from collections.abc import MutableMapping

from penstock.groups.classic_group import ClassicGroup
from penstock.groups.consumer_group import ConsumerGroup

AnyGroup = ClassicGroup | ConsumerGroup
Groups = MutableMapping[str, AnyGroup]
