"""Confluent's settings of serializers, with Confluent's meaning."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from penstock.client.api import values
from penstock.client.api.exceptions import ConfigException
from penstock.client.schema_registry import SchemaRegistry
from penstock.client.serdes.subjects import Strategy, strategy_of


@dataclass(frozen=True, slots=True)
class SerdeSettings:
    registry: SchemaRegistry
    strategy: Strategy
    is_key: bool
    auto_register: bool
    use_latest: bool
    use_metadata: Mapping[str, str] | None
    """Properties that the version's metadata must have."""
    use_schema_id: int | None
    latest_strict: bool
    normalize: bool
    fail_invalid_json: bool


def serde_settings(
    given: Mapping[str, Any], is_key: bool, registry: SchemaRegistry | None = None
) -> SerdeSettings:
    strategy = f"{'key' if is_key else 'value'}.subject.name.strategy"

    def flag(name: str, default: bool) -> bool:
        return bool(values.boolean(name, given.get(name, default)))

    schema_id = given.get("use.schema.id")
    made = SerdeSettings(
        registry or registry_of(given),
        strategy_of(strategy, given.get(strategy)),
        is_key,
        flag("auto.register.schemas", True),
        flag("use.latest.version", False),
        _metadata(given.get("use.latest.with.metadata")),
        None if schema_id in (None, -1, "-1") else int(str(schema_id)),
        flag("latest.compatibility.strict", True),
        flag("normalize.schemas", False),
        flag("json.fail.invalid.schema", False),
    )
    if made.use_latest and made.auto_register and "auto.register.schemas" in given:
        raise ConfigException("use.latest.version=true needs auto.register.schemas=false.")
    return made


def _metadata(given: Any) -> Mapping[str, str] | None:
    """A mapping, or Confluent's text `name=value,name=value`."""
    if not given:
        return None
    if isinstance(given, Mapping):
        return {str(name): str(value) for name, value in given.items()}
    pairs = [part.partition("=") for part in str(given).split(",")]
    if any(not separator for _, separator, _ in pairs):
        raise ConfigException(f"use.latest.with.metadata={given}: give it as name=value,name=value.")
    return {name.strip(): value.strip() for name, _, value in pairs}


def registry_of(given: Mapping[str, Any]) -> SchemaRegistry:
    """The registry that settings name, with their credentials."""
    urls = given.get("schema.registry.url")
    if not urls:
        raise ConfigException("schema.registry.url is missing. Give the address as http://localhost:8081.")
    texts = urls if isinstance(urls, str) else ",".join(urls)
    source = str(given.get("basic.auth.credentials.source", "URL")).upper()
    info = given.get("basic.auth.user.info", given.get("schema.registry.basic.auth.user.info"))
    authorization = ""
    if source == "USER_INFO":
        if not info:
            raise ConfigException("basic.auth.credentials.source=USER_INFO needs basic.auth.user.info.")
        authorization = _basic(str(info))
    elif source == "URL":
        texts, authorization = _from_urls(texts)
    else:
        raise ConfigException(f"basic.auth.credentials.source={source}: this client takes URL and USER_INFO.")
    if token := given.get("bearer.auth.token"):
        authorization = f"Bearer {token}"
    try:
        return SchemaRegistry(texts, authorization=authorization)
    except ValueError as error:
        raise ConfigException(f"schema.registry.url: {error}.") from error


def _from_urls(texts: str) -> tuple[str, str]:
    """Addresses without the name and password that the first of them has."""
    authorization, urls = "", []
    for text in texts.split(","):
        parts = urlsplit(text.strip())
        if parts.username is not None:
            authorization = authorization or _basic(f"{parts.username}:{parts.password or ''}")
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        urls.append(urlunsplit(parts))
    return ",".join(urls), authorization


def _basic(info: str) -> str:
    return f"Basic {base64.b64encode(info.encode()).decode()}"
