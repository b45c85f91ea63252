"""`controller.quorum.voters`: the nodes that keep the metadata, with their addresses, as Kafka writes them:
`1@host:9093,2@other:9093`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from penstock.settings.errors import invalid

_VOTER: Final = re.compile(r"(\d{1,9})@(\[[^\]]+\]|[^:@\s]+):(\d{1,5})", re.ASCII)


def parse_voters(texts: Sequence[str]) -> Mapping[int, tuple[str, int]]:
    """Host and port by node id. Raises SettingError."""
    return _parse(tuple(texts))


@cache
def _parse(texts: tuple[str, ...]) -> Mapping[int, tuple[str, int]]:
    voters: dict[int, tuple[str, int]] = {}
    for text in texts:
        match = _VOTER.fullmatch(text.strip())
        if match is None or not 0 < int(match[3]) < 65_536:
            raise invalid("controller.quorum.voters", text, "this is no voter", "ID@HOST:PORT")
        node_id = int(match[1])
        if node_id in voters:
            raise invalid("controller.quorum.voters", text, f"node {node_id} stands there twice", "each once")
        voters[node_id] = (match[2].strip("[]"), int(match[3]))
    return voters
