"""Where a client gets its OAUTHBEARER token from, as settings. `wire.oauth_tokens` gets the tokens.

Kafka's ways are: a token endpoint that takes client credentials, a file, and unsecured tokens for trials.
A token that stands in the JAAS text itself is our own addition, for short jobs and tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

UNSECURED: Final = "unsecuredLogin"
_CLAIM: Final = "unsecuredLoginStringClaim_"
_LIFETIME: Final = "unsecuredLoginLifetimeSeconds"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_CREDENTIALS: Final = "sasl.oauthbearer.client.credentials."


@dataclass(frozen=True, slots=True)
class OauthLogin:
    """One of: `token`, `endpoint` (a `file:`, or with client credentials), `claims` of an unsecured token."""

    token: str = field(default="", repr=False)
    endpoint: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    claims: tuple[tuple[str, str], ...] = ()
    lifetime_s: int = 3600


def oauth_login(properties: Mapping[str, str], options: Mapping[str, str]) -> OauthLogin | str:
    """The login of `sasl.jaas.config`'s options and the settings beside it; a text says what is missing."""
    if options.get("token"):
        return OauthLogin(token=options["token"])
    endpoint = properties.get(_ENDPOINT, "").strip()
    if endpoint:
        return _from_endpoint(endpoint, properties, options)
    claims = {name.removeprefix(_CLAIM): value for name, value in options.items() if name.startswith(_CLAIM)}
    if "sub" in claims:
        lifetime = options.get(_LIFETIME, "3600")
        if not lifetime.isdecimal():
            return f"{_LIFETIME} is a whole number of seconds, not {lifetime!r}"
        return OauthLogin(claims=tuple(sorted(claims.items())), lifetime_s=int(lifetime))
    return (
        f"OAUTHBEARER needs {_ENDPOINT} with clientId and clientSecret in sasl.jaas.config, or the option "
        f"token there (or, for trials, {_CLAIM}sub)"
    )


def _from_endpoint(
    endpoint: str, properties: Mapping[str, str], options: Mapping[str, str]
) -> OauthLogin | str:
    if endpoint.startswith("file:"):
        return OauthLogin(endpoint=endpoint)
    if not endpoint.startswith(("https://", "http://")):
        return f"{_ENDPOINT} is {endpoint!r}: write an address that begins with https:, http: or file:"
    client_id = properties.get(f"{_CREDENTIALS}client.id") or options.get("clientId", "")
    secret = properties.get(f"{_CREDENTIALS}client.secret") or options.get("clientSecret", "")
    if not client_id or not secret:
        return f"{_ENDPOINT} needs clientId and clientSecret in sasl.jaas.config"
    scope = properties.get("sasl.oauthbearer.scope") or options.get("scope", "")
    return OauthLogin(endpoint=endpoint, client_id=client_id, client_secret=secret, scope=scope)
