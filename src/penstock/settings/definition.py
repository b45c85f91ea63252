"""One row of the table of settings, and the field that declares it.

`TopicSettings` and `BrokerSettings` are the tables: each field is declared with `setting(...)`, which keeps
name, kind, default and meaning together. DescribeConfigs and the documentation read the rows back as
`Definition`s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final

from penstock.settings.errors import SettingError
from penstock.settings.kinds import Kind, SettingType

HIDDEN: Final = "[hidden]"
"""What stands for a secret wherever a setting is shown, as in Kafka."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What is known about a setting apart from its current value."""

    name: str
    kind: Kind
    default: Any
    """The typed default; None where Kafka has none and another setting fills in."""
    doc: str
    read_only: bool
    """True when a running broker cannot change it."""
    sensitive: bool = False
    synonyms: tuple[str, ...] = ()
    """Broker settings that this one falls back on, strongest first, as DescribeConfigs lists them."""

    @property
    def type(self) -> SettingType:
        """The type that DescribeConfigs sends."""
        return self.kind.type

    @property
    def default_text(self) -> str | None:
        """The default in Kafka's text form."""
        return None if self.default is None else self.kind.render(self.default)

    def parse(self, text: str) -> Any:
        """The typed value of a text, trimmed as Kafka does. A secret never appears in the error."""
        try:
            return self.kind.parse(self.name, text.strip())
        except SettingError as error:
            if not self.sensitive:
                raise
            message = f"Invalid value {HIDDEN} for configuration {self.name}"
            raise SettingError(message, setting=self.name, value=HIDDEN, allowed=error.allowed) from None

    def render(self, value: Any) -> str | None:
        """A typed value in Kafka's text form; never the text of a secret."""
        if value is None:
            return None
        return HIDDEN if self.sensitive else self.kind.render(value)


def setting(
    name: str, kind: Kind, default: Any, doc: str, *, dynamic: bool = False, broker: tuple[str, ...] = ()
) -> Any:
    """Declares a field of a table of settings, named as the setting with underscores for dots. A password is
    in no `repr`."""
    secret = kind.type is SettingType.PASSWORD
    row = Definition(name, kind, default, doc, read_only=not dynamic, sensitive=secret, synonyms=broker)
    return field(default=default, repr=not secret, metadata={"definition": row})


def definitions_of(table: type) -> Mapping[str, Definition]:
    """The rows that a dataclass declares, by the setting's name."""
    rows = (_row(declared) for declared in fields(table))
    return {row.name: row for row in rows if row is not None}


def _row(declared: Field[Any]) -> Definition | None:
    row = declared.metadata.get("definition")
    return row if isinstance(row, Definition) else None


def field_name(setting_name: str) -> str:
    """`segment.bytes` → `segment_bytes`."""
    return setting_name.replace(".", "_")
