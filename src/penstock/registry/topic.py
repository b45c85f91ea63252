"""The topic `_schemas` as the registry's parts see it: a state that changes by decisions."""

from __future__ import annotations

from typing import TypeAlias

from penstock.client.replayed_topic import ReplayedTopic
from penstock.registry.records import Record
from penstock.registry.state import State

SchemasTopic: TypeAlias = ReplayedTopic[Record, State]
