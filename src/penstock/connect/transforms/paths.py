"""Fields by name or, with `field.syntax.version=V2`, by a path such as `a.b` (KIP-821)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from penstock.connect.data.schema import Field, Schema, Type
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConfigError
from penstock.connect.transforms.settings import Settings


@dataclass(frozen=True)
class FieldPath:
    text: str
    steps: tuple[str, ...]

    @classmethod
    def of(cls, text: str, settings: Settings) -> Self:
        version = settings.one_of("field.syntax.version", ("V1", "V2"), "V1")
        return cls(text, (text,) if version == "V1" else tuple(_steps(text)))

    def field_of(self, schema: Schema) -> Field | None:
        found: Field | None = None
        inside: Schema | None = schema
        for step in self.steps:
            if inside is None or inside.type is not Type.STRUCT:
                return None
            found = inside.field(step)
            inside = None if found is None else found.schema
        return found

    def value_in_map(self, value: dict[str, Any]) -> Any:
        found: Any = value
        for step in self.steps:
            if not isinstance(found, dict):
                return None
            found = found.get(step)
        return found

    def value_in_struct(self, value: Struct, replaces_null: bool) -> Any:
        found: Any = value
        for step in self.steps:
            if not isinstance(found, Struct):
                return None
            found = found.get(step) if replaces_null else found.get_without_default(step)
        return found


def _steps(text: str) -> list[str]:
    """Dots part steps; backticks keep them together, and a backslash before a backtick is one."""
    steps: list[str] = []
    at = 0
    while True:
        if text[at : at + 1] == "`":
            end = at + 1
            while True:
                end = text.find("`", end)
                if end < 0:
                    raise ConfigError("field", text, f"Incomplete backtick pair in path: [{text}]")
                if text[end - 1] != "\\" and (end + 1 == len(text) or text[end + 1] == "."):
                    break
                end += 1
            steps.append(text[at + 1 : end].replace("\\`", "`"))
            at = end + 2
        else:
            end = text.find(".", at)
            end = len(text) if end < 0 else end
            steps.append(text[at:end])
            at = end + 1
        if at > len(text):
            return steps
        if at == len(text):
            steps.append("")
            return steps
