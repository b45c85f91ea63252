"""Functions of URLs, as java.net.URI, URLEncoder and URLDecoder see them."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_plus, unquote_plus

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.registry import Functions

define = Functions()

_URI: Final = re.compile(
    r"(?:(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*):)?"
    r"(?://(?:[^/?#@]*@)?(?P<host>\[[^\]]*\]|[^/?#:]*)(?::(?P<port>[0-9]*))?)?"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
_FORBIDDEN: Final = re.compile(r'[\x00-\x20"<>\\^`{|}]|%(?![0-9A-Fa-f]{2})')


def _part(url: str, name: str) -> str | None:
    found = _URI.fullmatch(url)
    if found is None or _FORBIDDEN.search(url):
        raise EvaluationFailed(f"URL argument is not a valid URL: {url}")
    value = found[name]
    return None if value is None else _unescaped(value)


def _unescaped(text: str) -> str:
    return unquote_plus(text.replace("+", "%2B"))


@define("URL_DECODE_PARAM(STRING) -> STRING")
def url_decode_param(text: str) -> str:
    """A value of a URL's parameter without its escapes."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise EvaluationFailed(f"Illegal hex characters in an escape of {text!r:.80}")
    return unquote_plus(text)


@define("URL_ENCODE_PARAM(STRING) -> STRING")
def url_encode_param(text: str) -> str:
    """A text with the escapes that a URL's parameter needs."""
    return quote_plus(text, safe="*").replace("~", "%7E")


@define("URL_EXTRACT_FRAGMENT(STRING) -> STRING")
def url_extract_fragment(url: str) -> str | None:
    """The part behind #."""
    return _part(url, "fragment")


@define("URL_EXTRACT_HOST(STRING) -> STRING")
def url_extract_host(url: str) -> str | None:
    """The host."""
    return _part(url, "host") or None


@define("URL_EXTRACT_PATH(STRING) -> STRING")
def url_extract_path(url: str) -> str | None:
    """The path."""
    return _part(url, "path")


@define("URL_EXTRACT_PORT(STRING) -> INT")
def url_extract_port(url: str) -> int | None:
    """The port, if there is one."""
    port = _part(url, "port")
    return int(port) if port else None


@define("URL_EXTRACT_PROTOCOL(STRING) -> STRING")
def url_extract_protocol(url: str) -> str | None:
    """The protocol, such as http."""
    return _part(url, "protocol")


@define("URL_EXTRACT_QUERY(STRING) -> STRING")
def url_extract_query(url: str) -> str | None:
    """The part behind ?."""
    return _part(url, "query")


@define("URL_EXTRACT_PARAMETER(STRING, STRING) -> STRING")
def url_extract_parameter(url: str, name: str) -> str | None:
    """The value of a parameter."""
    found = _URI.fullmatch(url)
    if found is None or _FORBIDDEN.search(url):
        raise EvaluationFailed(f"URL argument is not a valid URL: {url}")
    for pair in (found["query"] or "").split("&"):
        key, equals, value = pair.partition("=")
        if _unescaped(key) == name and equals:
            return unquote_plus(value)
    return None
