"""The words of .proto text, one after the other."""

from __future__ import annotations

import re
from typing import Final

from penstock.schemas.errors import InvalidSchema

_TOKEN: Final = re.compile(
    r"(?P<skip>\s+|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
    r'|(?P<text>"(?:[^"\\\n]++|\\.)*+"|\'(?:[^\'\\\n]++|\\.)*+\')'
    r"|(?P<number>0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<sign>[{}\[\]()=;,<>:/+-])",
    re.ASCII,
)
END: Final = ""


class Tokens:
    """A cursor over the words of a text. `next` is the word to come, empty at the end."""

    def __init__(self, source: str) -> None:
        self._words: list[tuple[str, str, int]] = []
        at = 0
        while at < len(source):
            found = _TOKEN.match(source, at)
            if found is None:
                line = source.count("\n", 0, at) + 1
                raise InvalidSchema(
                    f"Line {line} of the .proto text is not understood: {source[at : at + 20]!r}."
                )
            if found.lastgroup != "skip":
                self._words.append((str(found.lastgroup), found[0], at))
            at = found.end()
        self._source = source
        self._at = 0

    @property
    def next(self) -> str:
        return self._words[self._at][1] if self._at < len(self._words) else END

    @property
    def kind(self) -> str:
        return self._words[self._at][0] if self._at < len(self._words) else END

    def after(self) -> str:
        """The word after the one to come."""
        return self._words[self._at + 1][1] if self._at + 1 < len(self._words) else END

    def take(self) -> str:
        word = self.next
        if not word:
            raise self.error("the text ends too early")
        self._at += 1
        return word

    def accept(self, word: str) -> bool:
        """Takes the word if it is the next one."""
        if self.next != word:
            return False
        self._at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.error(f"{word!r} is missing before {self.next[:40]!r}")

    def name(self) -> str:
        if self.kind != "name":
            raise self.error(f"a name is missing before {self.next[:40]!r}")
        return self.take()

    def text(self) -> str:
        """A text in quotes; neighbours are one text."""
        if self.kind != "text":
            raise self.error(f"a text in quotes is missing before {self.next[:40]!r}")
        parts = []
        while self.kind == "text":
            parts.append(_unquoted(self.take()))
        return "".join(parts)

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        word = self.next
        try:
            number = int(word, 16 if word.lower().startswith("0x") else 8 if _is_octal(word) else 10)
        except ValueError as error:
            raise self.error(f"a whole number is missing before {word[:40]!r}") from error
        self.take()
        return sign * number

    def error(self, why: str) -> InvalidSchema:
        at = self._words[self._at][2] if self._at < len(self._words) else len(self._source)
        line = self._source.count("\n", 0, at) + 1
        return InvalidSchema(f"Line {line} of the .proto text: {why}.")


def _is_octal(word: str) -> bool:
    return len(word) > 1 and word.startswith("0")


def _unquoted(word: str) -> str:
    inner = word[1:-1]
    if "\\" not in inner:
        return inner
    try:
        return inner.encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "surrogateescape")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise InvalidSchema(f"The text {word[:60]} has an escape that is not understood.") from error
