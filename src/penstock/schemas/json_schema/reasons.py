"""The sentences for differences between JSON schemas. The names are Confluent's."""

from __future__ import annotations

from typing import Final

from penstock.schemas.differences import Difference

_SENTENCES: Final = (
    ("_ADDED_TO_OPEN_CONTENT_MODEL", "The {reader} schema has a property or item at path %s that the open "
     "content model of the {writer} schema lets be anything"),
    ("REQUIRED_PROPERTY_ADDED_TO_UNOPEN", "The {reader} schema requires a property at path %s that the "
     "{writer} schema does not have"),
    ("_REMOVED_FROM_CLOSED", "The {reader} schema is closed and lacks the property or item at path %s of the "
     "{writer} schema"),
    ("_REMOVED_NOT_COVERED", "The {reader} schema lacks the property or item at path %s of the {writer} "
     "schema, and what it allows besides does not cover it"),
    ("_ADDED_NOT_COVERED", "The {reader} schema has a property or item at path %s that does not cover "
     "what the {writer} schema allows there"),
    ("_INCREASED", "The value at path %s is larger in the {reader} schema than in the {writer} schema"),
    ("_DECREASED", "The value at path %s is smaller in the {reader} schema than in the {writer} schema"),
    ("SUM_TYPE_NARROWED", "The combination at path %s has fewer alternatives in the {reader} schema"),
    ("PRODUCT_TYPE_EXTENDED", "The combination at path %s has more conditions in the {reader} schema"),
    ("_NARROWED", "What is allowed at path %s is less in the {reader} schema than in the {writer} schema"),
    ("_EXTENDED", "What is demanded at path %s is more in the {reader} schema than in the {writer} schema"),
    ("_ADDED", "The {reader} schema has a keyword at path %s that the {writer} schema does not have"),
    ("_REMOVED", "The {reader} schema lacks what the {writer} schema has at path %s"),
    ("", "The schema at path %s differs between the {reader} and the {writer} schema"),
)  # fmt: skip


def difference(kind: str, path: str) -> Difference:
    sentence = next(text for part, text in _SENTENCES if part in kind)
    return Difference(kind, path, sentence.replace("%s", path))


def below(part: str, differences: list[Difference]) -> list[Difference]:
    """The same differences, seen from one level above."""
    return [difference(each.kind, f"#/{part}{each.path[1:]}") for each in differences]
