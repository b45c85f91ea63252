"""How a service comes to a Schema Registry: Confluent's settings of its client, behind a prefix.

basic.auth.credentials.source   USER_INFO, or URL for the name and the password in the address
basic.auth.user.info            name:password
bearer.auth.token               with bearer.auth.credentials.source STATIC_TOKEN
ssl.truststore.…  ssl.…         how to speak to https:
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.client.schema_registry import basic
from penstock.security.client_settings import ClientSettings, ClientSettingsError, Tls
from penstock.settings.errors import SettingError, invalid

_SOURCE: Final = "basic.auth.credentials.source"
_USER_INFO: Final = "basic.auth.user.info"
_BEARER_SOURCE: Final = "bearer.auth.credentials.source"
_BEARER: Final = "bearer.auth.token"
_NAMES: Final = (_SOURCE, _USER_INFO, _BEARER_SOURCE, _BEARER)


@dataclass(frozen=True)
class RegistryAccess:
    authorization: str = field(default="", repr=False)
    tls: Tls | None = None


def take_registry_access(texts: Mapping[str, str], prefix: str) -> tuple[RegistryAccess, dict[str, str]]:
    """What the settings with the prefix say, and the settings that are left."""
    own = {name: texts[prefix + name].strip() for name in _NAMES if prefix + name in texts}
    of_tls = f"{prefix}ssl."
    tls = {name.removeprefix(prefix): text for name, text in texts.items() if name.startswith(of_tls)}
    left = {
        name: text
        for name, text in texts.items()
        if name.removeprefix(prefix) not in own and not name.startswith(of_tls)
    }
    return RegistryAccess(_authorization(own, prefix), _tls(tls)), left


def _authorization(own: Mapping[str, str], prefix: str) -> str:
    source, bearer = own.get(_SOURCE, "URL").upper(), own.get(_BEARER_SOURCE, "STATIC_TOKEN").upper()
    if source not in ("URL", "USER_INFO"):
        raise invalid(prefix + _SOURCE, source, "this source is not read", "USER_INFO, URL")
    if bearer != "STATIC_TOKEN":
        raise invalid(prefix + _BEARER_SOURCE, bearer, "this source is not read", "STATIC_TOKEN")
    if own.get(_BEARER):
        return f"Bearer {own[_BEARER]}"
    name, _, password = own.get(_USER_INFO, "").partition(":")
    return basic(name, password) if source == "USER_INFO" or name else ""


def _tls(texts: Mapping[str, str]) -> Tls | None:
    if not texts:
        return None
    try:
        return ClientSettings.from_properties({**texts, "security.protocol": "SSL"}).tls
    except ClientSettingsError as error:
        raise SettingError(str(error), setting="", value=None, allowed="") from None
