"""ApiVersions, judged by kio, and the table of flexible versions, judged by it too."""

from __future__ import annotations

from importlib import import_module

import pytest

from penstock.handlers.table import HANDLERS, served
from penstock.protocol import api_versions, messages
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode
from tests.protocol import kio_oracle


@pytest.mark.parametrize("version", range(5))
def test_a_response_is_what_kio_expects(version: int) -> None:
    data = api_versions.encode_response(version, served())
    parsed = kio_oracle.response(Api.API_VERSIONS, version, data)
    assert {int(item.api_key) for item in parsed.api_keys} == set(HANDLERS)


def test_features_are_told_in_the_tagged_fields() -> None:
    data = api_versions.encode_response(
        3,
        [],
        supported={"transaction.version": (0, 2)},
        finalized={"transaction.version": 2},
        finalized_epoch=5,
    )
    parsed = messages.read_response(Api.API_VERSIONS, 3, data)
    supported, finalized = parsed.supported_features[0], parsed.finalized_features[0]
    assert (supported.name, supported.min_version, supported.max_version) == ("transaction.version", 0, 2)
    assert (finalized.max_version_level, finalized.min_version_level) == (2, 2)
    assert parsed.finalized_features_epoch == 5


@pytest.mark.parametrize("version", range(5))
def test_a_refusal_is_readable_by_a_client_of_any_age(version: int) -> None:
    data = api_versions.encode_response(version, served(), error=ErrorCode.UNSUPPORTED_VERSION)
    assert data[:2] == b"\x00\x23"


@pytest.mark.parametrize("api", list(Api))
def test_kio_agrees_on_which_versions_are_flexible(api: Api) -> None:
    package = import_module(f"kio.schema.{api.name.lower()}")
    found = 0
    for version in range(20):
        try:
            entity = messages._entity(api, version, "Request")
        except ModuleNotFoundError:
            continue
        found += 1
        assert is_flexible(api, version) is entity.__flexible__, f"{api.name} v{version}"  # type: ignore[attr-defined]
    assert found, package
