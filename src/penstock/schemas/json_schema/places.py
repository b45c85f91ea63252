"""Schemas within documents: the places that `$ref` names, found without ever fetching anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from penstock.schemas.errors import InvalidSchema

HOPS_MAX: Final = 100
"""References to references that are followed."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A schema, and the document in which its references are looked up."""

    value: Any
    document: Document

    def at(self, value: Any) -> Place:
        """A schema within this one."""
        return Place(value, self.document)


class Document:
    """One JSON document with the documents that it may refer to, by name."""

    def __init__(self, root: Any, named: dict[str, Document]) -> None:
        self.root = root
        self._named = named
        found = (root.get("$id") or root.get("id")) if isinstance(root, dict) else None
        self.base = found if isinstance(found, str) else ""
        self._anchors = dict(_anchors(root))
        self.outermost = self
        """The document that leads to this one, where dynamic anchors are looked for first."""
        for each in named.values():
            each.outermost = self

    @property
    def place(self) -> Place:
        return Place(self.root, self)

    def find(self, reference: str) -> Place:
        """The schema that a `$ref` in this document means; InvalidSchema when there is none."""
        address, fragment = urldefrag(reference)
        document = self if address in ("", self.base) else self._other(address)
        if document is None:
            inner = self._anchors.get(address) or self._anchors.get(urljoin(self.base, address))
            if inner is None:
                raise InvalidSchema(f"Unresolved $ref {reference[:200]!r}: no reference has that name.")
            return Place(_walk(inner, fragment, reference), self)
        if fragment and not fragment.startswith("/"):
            if fragment not in document._anchors:
                raise InvalidSchema(f"Unresolved $ref {reference[:200]!r}: there is no such anchor.")
            return Place(document._anchors[fragment], document)
        return Place(_walk(document.root, fragment, reference), document)

    def find_dynamic(self, reference: str) -> Place:
        """The schema that a `$dynamicRef` means: the outermost one that has its anchor, if it names one."""
        place = self.find(reference)
        anchor = urldefrag(reference)[1]
        if not isinstance(place.value, dict) or place.value.get("$dynamicAnchor") != anchor:
            return place
        outer = self.outermost._anchors.get(anchor)
        if isinstance(outer, dict) and outer.get("$dynamicAnchor") == anchor:
            return Place(outer, self.outermost)
        return place

    def _other(self, address: str) -> Document | None:
        for name in (address, urljoin(self.base, address)):
            if name in self._named:
                return self._named[name]
        return next((each for each in self._named.values() if each.base and each.base == address), None)


def resolve(place: Place) -> Place:
    """Follows `$ref` and `$dynamicRef` until they lead to a schema that is none."""
    for _ in range(HOPS_MAX):
        value = place.value if isinstance(place.value, dict) else {}
        if isinstance(reference := value.get("$ref"), str):
            place = place.document.find(reference)
        elif isinstance(reference := value.get("$dynamicRef"), str):
            place = place.document.find_dynamic(reference)
        else:
            return place
    raise InvalidSchema("A $ref leads only to other references, without end.")


def check_references(document: Document) -> None:
    """Every `$ref` and `$dynamicRef` of the document leads somewhere."""
    stack = [document.root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str) or isinstance(value.get("$dynamicRef"), str):
                resolve(Place(value, document))
            stack += [
                each for key, each in value.items() if key not in ("enum", "const", "default", "examples")
            ]
        elif isinstance(value, list):
            stack += value


def _walk(value: Any, pointer: str, reference: str) -> Any:
    for part in unquote(pointer).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise InvalidSchema(f"Unresolved $ref {reference[:200]!r}: there is nothing at that place.")
    return value


def _anchors(root: Any) -> list[tuple[str, Any]]:
    """Inner schemas by their `$id` and `$anchor`."""
    found: list[tuple[str, Any]] = []
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            for key in ("$id", "id", "$anchor", "$dynamicAnchor"):
                name = value.get(key)
                if isinstance(name, str):
                    found.append((name.removeprefix("#"), value))
            stack += list(value.values())
        elif isinstance(value, list):
            stack += value
    return found
