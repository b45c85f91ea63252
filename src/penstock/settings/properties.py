"""The syntax of java.util.Properties, in which server.properties is written.

Comments with `#` and `!`, `=`, `:` or blanks between key and value, backslash escapes with `\\uXXXX`, and a
backslash at the end of a line that joins it with the next. Text in, pairs out: `sources` reads the file.
"""

from __future__ import annotations

from collections.abc import Iterator

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(ValueError):
    """The text is not in properties syntax; carries the number of the line."""


def parse_properties(text: str) -> dict[str, str]:
    """Every key with its value; a key that is given twice keeps its last value, as in Java."""
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        found[_unescape(key, number)] = _unescape(value, number)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and blank ones, continued lines joined; with the number of their first line."""
    pending, first = "", 0
    for number, natural in enumerate(_natural_lines(text), start=1):
        line = natural.lstrip(_BLANK)
        if not pending and (not line or line[0] in "#!"):
            continue
        first = first or number
        if _is_continued(line):
            pending += line[:-1]
            # A lone backslash continues nothing yet; remember that a line was begun all the same.
            pending = pending or _BLANK[0]
            continue
        yield first, (pending + line).lstrip(_BLANK)
        pending, first = "", 0
    if pending.strip(_BLANK):
        yield first, pending.lstrip(_BLANK)


def _natural_lines(text: str) -> list[str]:
    """Lines end with \\n, \\r or both; str.splitlines would also end them at characters that Java keeps."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _is_continued(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _split(line: str) -> tuple[str, str]:
    """Key and value, still escaped: the key ends at the first unescaped `=`, `:` or blank."""
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANK:
        end += 2 if line[end] == "\\" else 1
    start = end
    while start < len(line) and line[start] in _BLANK:
        start += 1
    if start < len(line) and line[start] in "=:":
        start += 1
    return line[:end], line[start:].lstrip(_BLANK)


def _unescape(text: str, line_number: int) -> str:
    if "\\" not in text:
        return text
    plain: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\":
            plain.append(character)
            continue
        escaped = text[position : position + 1]
        position += 1
        if escaped == "u":
            plain.append(_code_unit(text[position : position + 4], line_number))
            position += 4
        else:
            plain.append(_ESCAPES.get(escaped, escaped))
    return _join_surrogates("".join(plain))


def _code_unit(digits: str, line_number: int) -> str:
    if len(digits) != 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise PropertiesError(f"line {line_number}: \\u must be followed by four hexadecimal digits")
    return chr(int(digits, 16))


def _join_surrogates(text: str) -> str:
    """Java's characters are UTF-16 code units; a pair of escapes is one character here."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
