"""Text as Java counts it: in UTF-16 units. For text of the first plane nothing is converted."""

from __future__ import annotations


def length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text) if not text.isascii() else len(text)


def units(text: str) -> str:
    """One character for each UTF-16 unit; halves of a pair are surrogates."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    raw = text.encode("utf-16-be", "surrogatepass")
    return "".join(chr(raw[at] << 8 | raw[at + 1]) for at in range(0, len(raw), 2))


def joined(text: str) -> str:
    """The reverse: pairs of surrogates become characters again."""
    if text.isascii():
        return text
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
