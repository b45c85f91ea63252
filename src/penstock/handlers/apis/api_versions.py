"""ApiVersions, v0-v4: the APIs that this broker serves, in which versions, and the levels of features. A
version of ApiVersions that is not served is answered with error 35 in the v0 layout."""

from __future__ import annotations

from typing import Final

from penstock.controller.features import SUPPORTED, finalized
from penstock.handlers.cluster_nodes import controller_listeners
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol import api_versions
from penstock.protocol.errors import ErrorCode
from penstock.security.access import Open

VERSIONS: Final = (0, 4)
ACCESS: Final = Open("a client asks it before it has authenticated")
ZERO_LEVELS_FROM: Final = 4


def handle(request: Request, broker: MetadataParts) -> Reply:
    apis = broker.controller_apis if request.listener in controller_listeners(broker) else broker.apis
    if not VERSIONS[0] <= request.version <= VERSIONS[1]:
        return Reply([api_versions.encode_response(0, apis, error=ErrorCode.UNSUPPORTED_VERSION)])
    body = api_versions.encode_response(
        request.version,
        apis,
        supported=SUPPORTED if request.version >= ZERO_LEVELS_FROM else _without_zero_levels(),
        finalized=finalized(broker.controller.image),
        finalized_epoch=broker.controller.last_offset,
    )
    return Reply([body])


def _without_zero_levels() -> dict[str, tuple[int, int]]:
    """Clients of older versions cannot read a feature whose lowest level is 0 (KAFKA-17492)."""
    return {name: levels for name, levels in SUPPORTED.items() if levels[0] > 0}
