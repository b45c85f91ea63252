"""The filter language of the message search: parsed once, then asked of each record. Pure.

    refund                              the text anywhere in key, value or headers, in any case
    "two words"                         the same, with spaces
    value.total > 100                   a field of a JSON value, or of one decoded by its schema
    value.items[0].sku = "A-7"          into lists
    key = "order-17"                    the whole key as text; key.id when it is JSON
    header.source = web                 a header by name
    value.note exists                   the field is there
    partition = 3 and offset >= 500     also: timestamp > "2026-01-31 12:00:00"
    value contains error and not (value.level = debug or key matches "^test-")

`matches` takes RE2's regular expressions, which no record can make slow.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.client.errors import InvalidValue
from penstock.client.paging import Message
from penstock.console.moments import parse_timestamp

DEPTH_MAX: Final = 30
LENGTH_MAX: Final = 2_000
EXAMPLES: Final = (
    ("refund", "the text anywhere, in any case"),
    ("value.total > 100", "a field of a JSON value, or of one with a schema"),
    ('key = "order-17" and partition = 3', "the whole key, in one partition"),
    ("header.source = web and not value.status = paid", "a header, and what is not so"),
    ('value.name matches "^A" or value.note exists', "a regular expression, or a field that is there"),
    ('py: len(value["items"]) > 2 and key.startswith("order-")', "a Python expression"),
)

_TOKEN: Final = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<sign><=|>=|!=|=|<|>|\(|\))|(?P<word>[^\s()=<>!"]+))'
)
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_SIGNS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_ROOTS: Final = ("key", "value", "header", "partition", "offset", "timestamp")
_MISSING: Final = object()


@dataclass(slots=True)
class Candidate:
    """A record that is being asked; what is decoded is decoded once."""

    message: Message
    decode: Callable[[Message, bool], Any]
    """A key (True) or value as JSON would have it; text or None when it is none."""
    _decoded: dict[bool, Any] = field(default_factory=dict)

    def parsed(self, of_key: bool) -> Any:
        if of_key not in self._decoded:
            self._decoded[of_key] = self.decode(self.message, of_key)
        return self._decoded[of_key]

    def text(self, of_key: bool) -> str:
        """The bytes as text; of what is decoded by a schema, its JSON."""
        data = self.message.key if of_key else self.message.value
        if data is None:
            return ""
        if data[:1] == b"\0":
            return str(self.parsed(of_key))
        return data.decode("utf-8", "replace")


Test = Callable[[Candidate], bool]


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    quoted: bool = False


def compile_filter(text: str) -> Test:
    """What says of a record whether it is wanted. An empty text wants all."""
    if len(text) > LENGTH_MAX:
        raise InvalidValue(f"The filter has {len(text)} characters. At most {LENGTH_MAX} are read.")
    tokens = _tokens(text)
    if not tokens:
        return lambda _: True
    parser = _Parser(tokens)
    test = parser.either(0)
    if parser.rest:
        raise InvalidValue(f"The filter goes on where it should end, at {parser.rest[0].text!r}.")
    return test


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidValue(f"The filter cannot be read from {text[at:].strip()[:40]!r} on.")
        quoted = match["text"]
        if quoted is not None:
            found.append(Token(re.sub(r"\\(.)", r"\1", quoted[1:-1]), quoted=True))
        else:
            found.append(Token(match["sign"] or match["word"]))
        at = match.end()
    return found


class _Parser:
    """either → both ("or" both)*; both → single ("and"? single)*; single → not, parentheses, comparison."""

    def __init__(self, tokens: list[Token]) -> None:
        self.rest = tokens

    def either(self, depth: int) -> Test:
        if depth > DEPTH_MAX:
            raise InvalidValue(f"The filter has more than {DEPTH_MAX} parentheses inside each other.")
        tests = [self._both(depth)]
        while self._take("or"):
            tests.append(self._both(depth))
        return tests[0] if len(tests) == 1 else lambda each: any(test(each) for test in tests)

    def _both(self, depth: int) -> Test:
        tests = [self._single(depth)]
        while self.rest and not self._next_is("or") and not self._next_is(")"):
            self._take("and")
            tests.append(self._single(depth))
        return tests[0] if len(tests) == 1 else lambda each: all(test(each) for test in tests)

    def _single(self, depth: int) -> Test:
        if self._take("not"):
            negated = self._single(depth)
            return lambda each: not negated(each)
        if self._take("("):
            inside = self.either(depth + 1)
            if not self._take(")"):
                raise InvalidValue("A parenthesis is open at the end of the filter. Close it with ).")
            return inside
        return self._comparison()

    def _comparison(self) -> Test:
        token = self._pop("a word, a text in quotes, or a field")
        place = None if token.quoted else _place(token.text)
        follows = self.rest[0].text.lower() if self.rest and not self.rest[0].quoted else ""
        if place is None or follows not in (*_SIGNS, "contains", "matches", "exists"):
            if not token.quoted and token.text in (*_SIGNS, ")"):
                raise InvalidValue(f"The filter has {token.text!r} where a field or a text should be.")
            return _anywhere(token.text)
        self.rest.pop(0)
        if follows == "exists":
            return lambda each: place(each) not in (_MISSING, None)
        wanted = self._pop(f"a value after {follows}")
        if follows == "contains":
            needle = wanted.text.casefold()
            return lambda each: needle in _text(place(each)).casefold()
        if follows == "matches":
            return _matching(place, wanted.text)
        return _compared(place, follows, wanted, token.text)

    def _take(self, word: str) -> bool:
        if self._next_is(word):
            self.rest.pop(0)
            return True
        return False

    def _next_is(self, word: str) -> bool:
        return bool(self.rest) and not self.rest[0].quoted and self.rest[0].text.lower() == word

    def _pop(self, wanted: str) -> Token:
        if not self.rest:
            raise InvalidValue(f"The filter ends where {wanted} should be.")
        return self.rest.pop(0)


def _place(word: str) -> Callable[[Candidate], Any] | None:
    """Where a field is found in a record; None when the word is no field."""
    root = re.split(r"[.\[]", word, maxsplit=1)[0]
    path = word[len(root) :]
    if root not in _ROOTS:
        return None
    if root in ("partition", "offset", "timestamp"):
        names = {"partition": "partition", "offset": "offset", "timestamp": "timestamp_ms"}
        return None if path else operator.attrgetter(f"message.{names[root]}")
    if root == "header":
        return (lambda each: _header(each.message, path[1:])) if path.startswith(".") else None
    of_key = root == "key"
    steps = [name if name else int(index) for name, index in _STEP.findall(path)]
    if not steps:
        return lambda each: each.text(of_key)
    return lambda each: _inside(each.parsed(of_key), steps)


def _inside(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value


def _header(message: Message, name: str) -> Any:
    found = next((value for key, value in message.headers if key == name), _MISSING)
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found


def _anywhere(text: str) -> Test:
    needle = text.casefold()
    raw = needle.encode() if needle.isascii() else None

    def test(each: Candidate) -> bool:
        message = each.message
        if raw is not None and (message.value or b"")[:1] != b"\0":
            # Most records are told by their bytes alone, without decoding them.
            if raw in (message.value or b"").lower() or raw in (message.key or b"").lower():
                return True
        elif needle in each.text(False).casefold() or needle in each.text(True).casefold():
            return True
        return any(needle in f"{k} {_text(v)}".casefold() for k, v in message.headers)

    return test


def _matching(place: Callable[[Candidate], Any], pattern: str) -> Test:
    import re2  # type: ignore[import-untyped]

    try:
        compiled = re2.compile(pattern)
    except re2.error as error:
        raise InvalidValue(f"{pattern!r} is no regular expression: {error}.") from None
    return lambda each: compiled.search(_text(place(each))) is not None


def _compared(place: Callable[[Candidate], Any], sign: str, wanted: Token, name: str) -> Test:
    compare = _SIGNS[sign]
    number = None if wanted.quoted else _number(wanted.text)
    if name == "timestamp":
        number = float(parse_timestamp(wanted.text))
    words = {"true": True, "false": False, "null": None}
    special = words.get(wanted.text, _MISSING) if not wanted.quoted else _MISSING

    def test(each: Candidate) -> bool:
        found = place(each)
        if found is _MISSING:
            return sign == "!="
        if special is not _MISSING and sign in ("=", "!="):
            return (found is special) == (sign == "=")
        if number is not None:
            actual = found if isinstance(found, int | float) else _number(_text(found))
            return compare(actual, number) if actual is not None else sign == "!="
        return compare(_text(found), wanted.text)

    return test


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(value: Any) -> str:
    if value is _MISSING or value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
