"""What one request carries from statement to statement: settings of SET and variables of DEFINE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sqlserver.errors import KsqlError
from penstock.sqlserver.settings import is_editable, session_name


@dataclass
class Session:
    properties: dict[str, str]
    """Of this session, by short names, beside the server's defaults."""
    variables: dict[str, str] = field(default_factory=dict)
    overwritten: set[str] = field(default_factory=set)

    @staticmethod
    def of(defaults: Mapping[str, str], given: Mapping[str, object], variables: Mapping[str, str]) -> Session:
        """`given` are a request's own; KsqlError for one that cannot be set."""
        made = Session(dict(defaults), dict(variables))
        for name, value in given.items():
            if not is_editable(name):
                raise KsqlError(
                    f"Not recognizable as ksql, streams, consumer, or producer property: '{name}'"
                )
            made.set(name, _text(value))
        return made

    def set(self, name: str, value: str) -> None:
        self.properties[session_name(name)] = value
        self.overwritten.add(session_name(name))

    def execute(self, node: s.Statement) -> bool:
        """Whether the statement was one of the session's own."""
        match node:
            case s.SetProperty():
                if not is_editable(node.name):
                    raise SqlError(
                        f"Unknown property: {node.name}: it is no setting of a session. "
                        "SHOW PROPERTIES lists those that are",
                        *node.at,
                    )
                self.set(node.name, node.value)
            case s.UnsetProperty():
                self.properties.pop(session_name(node.name), None)
                self.overwritten.discard(session_name(node.name))
            case s.DefineVariable():
                self.variables[node.name] = node.value
            case s.UndefineVariable():
                self.variables.pop(node.name, None)
            case _:
                return False
        return True


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
