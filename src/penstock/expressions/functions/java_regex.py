"""Regular expressions of java.util.regex, on RE2 where it can and on `regex` where it must.

RE2 takes time linear in the text, so a hostile pattern cannot hold a worker. `$`, look-around, references to
groups and possessive quantifiers need `regex`, which gives up after a second. What neither has, such as
intersections of classes, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]
import regex  # type: ignore[import-untyped]

from penstock.expressions.errors import EvaluationFailed

MOST_SECONDS: Final = 1.0
"""That one text may take, where RE2 does not know the pattern."""
_ESCAPES: Final = {
    "h": r"[ \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "H": r"[^ \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "R": r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])",
    "Z": r"(?=(?:\r\n|[\n\r\x85\u2028\u2029])?\Z)",
    "z": r"\Z",
    "e": r"\x1b",
    "v": r"[\n\x0b\f\r\x85\u2028\u2029]",
}
_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1f\\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0b\\f\\r",
}
_ENDS: Final = r"(?=(?:\r\n|[\n\r\x85\u2028\u2029])?\Z)"
_ANY: Final = r"[^\n\r\x85\u2028\u2029]"
_ONLY_RE: Final = re.compile(r"\(\?[=!<>](?![A-Za-z])|\\[1-9]|\\k<|[*+?]\+|[0-9,]\}\+|\$|\\[ZRGh]")
_INLINE: Final = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?\)")


@lru_cache(maxsize=256)
def java_pattern(pattern: str) -> Any:
    """A compiled pattern with the methods of `re.Pattern`: search, finditer, fullmatch and groups."""
    if not _ONLY_RE.search(pattern) and "(?" not in pattern.replace("(?:", "").replace("(?i)", ""):
        try:
            options = re2.Options()
            options.log_errors = False
            options.never_nl = False
            return re2.compile("".join(_translated(pattern, for_re2=True)), options)
        except re2.error:
            pass  # perhaps `re` knows it
    try:
        return Timed(regex.compile("".join(_translated(pattern, for_re2=False)), regex.ASCII), pattern)
    except (regex.error, OverflowError) as error:
        raise EvaluationFailed(f"Invalid regular expression: {pattern}: {error}") from error


class Timed:
    """A pattern that could take time exponential in the text, and may not."""

    def __init__(self, compiled: Any, pattern: str) -> None:
        self._compiled, self._pattern = compiled, pattern
        self.groups: int = compiled.groups

    def search(self, text: str) -> Any:
        try:
            return self._compiled.search(text, timeout=MOST_SECONDS)
        except TimeoutError as error:
            raise self._too_slow() from error

    def fullmatch(self, text: str) -> Any:
        try:
            return self._compiled.fullmatch(text, timeout=MOST_SECONDS)
        except TimeoutError as error:
            raise self._too_slow() from error

    def finditer(self, text: str) -> Iterator[Any]:
        try:
            yield from self._compiled.finditer(text, timeout=MOST_SECONDS)
        except TimeoutError as error:
            raise self._too_slow() from error

    def _too_slow(self) -> EvaluationFailed:
        return EvaluationFailed(f"The regular expression {self._pattern} took longer than {MOST_SECONDS} s")


def _translated(pattern: str, *, for_re2: bool) -> Iterator[str]:
    at, flags, in_class, class_begin = 0, [0], False, False
    dot_all = False
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            if at + 1 == len(pattern):
                raise EvaluationFailed(f"Invalid regular expression: {pattern}: it ends with \\")
            text, at = _escape(pattern, at, in_class, for_re2)
            yield text
            class_begin = False
            continue
        if in_class:
            if character == "]" and not class_begin:
                in_class = False
            elif character == "[" or pattern.startswith("&&", at):
                raise EvaluationFailed(f"Classes within classes are not supported: {pattern}: use one class")
            class_begin = character == "^" and class_begin
            yield character
        elif character == "[":
            in_class = class_begin = True
            yield character
        elif inline := _INLINE.match(pattern, at):
            dot_all = dot_all or "s" in inline[1]
            known = "".join(flag for flag in inline[1] if flag in "imsx")
            off = f"-{inline[2]}" if inline[2] else ""
            yield f"(?{known}{off}:"
            flags[-1] += 1
            at = inline.end()
            continue
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            yield "(?P<"
            flags.append(0)
            at += 3
            continue
        elif character == "(":
            flags.append(0)
            yield character
        elif character == ")":
            yield ")" * (flags.pop() + 1) if len(flags) > 1 else character
        elif character == ".":
            yield "." if dot_all else _ANY if not for_re2 else r"[^\n\r\x{85}\x{2028}\x{2029}]"
        elif character == "$" and not for_re2:
            yield _ENDS
        else:
            yield character
        at += 1
    yield ")" * sum(flags)


def _escape(pattern: str, at: int, in_class: bool, for_re2: bool) -> tuple[str, int]:
    letter = pattern[at + 1]
    if letter == "Q":
        end = pattern.find("\\E", at)
        end = len(pattern) if end < 0 else end
        return re.escape(pattern[at + 2 : end]), end + 2
    if letter in "pP":
        return _property(pattern, at, in_class, for_re2)
    if letter == "k":
        end = pattern.find(">", at)
        return f"(?P={pattern[at + 3 : end]})", end + 1
    if letter == "x" and pattern[at + 2 : at + 3] == "{":
        end = pattern.find("}", at)
        return re.escape(chr(int(pattern[at + 3 : end], 16))), end + 1
    if letter == "u":
        return re.escape(chr(int(pattern[at + 2 : at + 6], 16))), at + 6
    if letter == "0":
        digits = re.match(r"[0-3]?[0-7]{1,2}", pattern[at + 2 :])
        return (re.escape(chr(int(digits[0], 8))), at + 2 + digits.end()) if digits else ("\\0", at + 2)
    if letter in _ESCAPES and not in_class:
        return _ESCAPES[letter], at + 2
    if letter.isalnum() or letter == "_":
        return "\\" + letter, at + 2
    return "\\" + letter, at + 2


def _property(pattern: str, at: int, in_class: bool, for_re2: bool) -> tuple[str, int]:
    """`\\p{Name}` or `\\pL`."""
    if pattern[at + 2 : at + 3] == "{":
        end = pattern.find("}", at)
        name, end = pattern[at + 3 : end], end + 1
    else:
        name, end = pattern[at + 2 : at + 3], at + 3
    negated = pattern[at + 1] == "P"
    if name in _POSIX:
        if in_class and not negated:
            return _POSIX[name], end
        return f"[{'^' if negated else ''}{_POSIX[name]}]", end
    if not for_re2:
        raise EvaluationFailed(f"\\p{{{name}}} cannot stand beside look-around or references: {pattern}")
    return f"\\{pattern[at + 1]}{{{name.removeprefix('Is')}}}", end


def replaced(pattern: str, text: str, replacement: str) -> str:
    """String.replaceAll: `$1` and `${name}` are groups, `\\` takes the next character as it is."""
    compiled = java_pattern(pattern)
    parts, last = [], 0
    for found in compiled.finditer(text):
        parts += [text[last : found.start()], _expanded(replacement, found)]
        last = found.end()
    return "".join([*parts, text[last:]])


def _expanded(replacement: str, found: Any) -> str:
    parts, at = [], 0
    while at < len(replacement):
        character = replacement[at]
        if character == "\\":
            if at + 1 == len(replacement):
                raise EvaluationFailed("character to be escaped is missing in the replacement")
            parts.append(replacement[at + 1])
            at += 2
        elif character == "$":
            name = re.match(r"\{([A-Za-z][A-Za-z0-9]*)\}|([0-9]+)", replacement[at + 1 :])
            if name is None:
                raise EvaluationFailed("Illegal group reference in the replacement: write \\$ for a dollar")
            group, length = _group(name, found)
            parts.append(group or "")
            at += 1 + length
        else:
            parts.append(character)
            at += 1
    return "".join(parts)


def _group(name: re.Match[str], found: Any) -> tuple[str | None, int]:
    if name[1]:
        return found.group(name[1]), name.end()
    digits, most = name[2], found.re.groups
    length = 1
    while length < len(digits) and int(digits[: length + 1]) <= most:
        length += 1
    number = int(digits[:length])
    if number > most:
        raise EvaluationFailed(f"No group {number}")
    return found.group(number), length
