"""OAUTHBEARER tokens for a client: got from an endpoint or a file, or made when they are unsecured.

A token is kept for each login until four fifths of its life are over. Errors never show a secret.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock.security.authentication import AuthenticationFailed
from penstock.security.oauth_login import OauthLogin
from penstock.wire.direct_http import open_direct

REQUEST_SECONDS: Final = 10.0
_KEPT_SHARE: Final = 0.8
_MOST_BYTES: Final = 1_000_000
_WITHOUT_END_S: Final = 3600.0
"""How long a token is kept that does not say when it ends."""


class Token(NamedTuple):
    text: str
    expires_s: float
    """Seconds since 1970."""
    name: str
    """The subject, for librdkafka, which wants one; it is not sent."""


_kept: dict[OauthLogin, tuple[float, Token]] = {}
_lock = threading.Lock()


def token_for(login: OauthLogin) -> Token:
    """A token that is good for a while. AuthenticationFailed when there is none to be had."""
    now = time.time()
    with _lock:
        use_until, token = _kept.get(login, (0.0, None))
        if token is not None and now < use_until:
            return token
    token = _described(_new(login, now), now)
    with _lock:
        _kept[login] = (now + (token.expires_s - now) * _KEPT_SHARE, token)
    return token


def _new(login: OauthLogin, now: float) -> str:
    if login.token:
        return login.token
    if login.claims:
        return _unsecured(login, now)
    if login.endpoint.startswith("file:"):
        path = urllib.parse.unquote(urllib.parse.urlparse(login.endpoint).path)
        try:
            return Path(path).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise AuthenticationFailed(f"no token in {path}: {error}") from None
    return _from_endpoint(login)


def _from_endpoint(login: OauthLogin) -> str:
    """RFC 6749, section 4.4: the client's own credentials for a token."""
    fields = {"grant_type": "client_credentials", **({"scope": login.scope} if login.scope else {})}
    basic = base64.b64encode(f"{login.client_id}:{login.client_secret}".encode()).decode()
    request = urllib.request.Request(
        login.endpoint,
        urllib.parse.urlencode(fields).encode(),
        {"Authorization": f"Basic {basic}", "Accept": "application/json"},
    )
    try:
        with open_direct(request, REQUEST_SECONDS) as answer:
            found = json.loads(answer.read(_MOST_BYTES))
    except urllib.error.HTTPError as error:
        raise AuthenticationFailed(f"{login.endpoint} gives no token: it answers {error.code}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or error
        raise AuthenticationFailed(f"{login.endpoint} gives no token: {why}") from None
    token = found.get("access_token") if isinstance(found, dict) else None
    if not isinstance(token, str) or not token:
        raise AuthenticationFailed(f"{login.endpoint} gives no token: its answer has no access_token")
    return token


def _unsecured(login: OauthLogin, now: float) -> str:
    claims = {**dict(login.claims), "iat": int(now), "exp": int(now) + login.lifetime_s}
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def _encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def _described(text: str, now: float) -> Token:
    """When a token ends and whom it names; a token that is no JWT says neither."""
    body = text.split(".")[1] if text.count(".") >= 2 else ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, binascii.Error):
        claims = {}
    claims = claims if isinstance(claims, dict) else {}
    end = claims.get("exp")
    return Token(
        text, end if isinstance(end, int | float) else now + _WITHOUT_END_S, str(claims.get("sub") or "-")
    )
