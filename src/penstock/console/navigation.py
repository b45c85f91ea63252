"""The sections of the console, in the order of the bar, and which of them an address belongs to. Pure."""

from __future__ import annotations

from typing import Final

SECTIONS: Final = (
    ("Overview", "/"),
    ("Topics", "/topics"),
    ("Groups", "/groups"),
    ("Schemas", "/schemas"),
    ("Connectors", "/connectors"),
    ("SQL", "/sql"),
    ("Pipelines", "/pipelines"),
    ("Brokers", "/brokers"),
    ("Alerts", "/alerts"),
)
SECURITY: Final = ("Security", "/security")
"""In the bar where the console asks for a login; else a tab of the brokers."""
_WITHIN: Final = {"/transactions": "Groups", "/follow": "Topics"}
"""Pages without a section of their own."""


def section_of(path: str) -> str:
    """The section that the bar marks; empty for an address that is none of the console's."""
    first = "/" + path.split("?")[0].strip("/").split("/")[0]
    known = (*SECTIONS, SECURITY)
    return _WITHIN.get(first) or next((name for name, address in known if address == first), "")
