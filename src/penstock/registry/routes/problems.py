"""What the routes may refuse, for the OpenAPI document."""

from __future__ import annotations

from typing import Final

from penstock.web import Problem

SUBJECT: Final = Problem(404, "Subject not found", 40401)
VERSION: Final = Problem(404, "Version not found", 40402)
SCHEMA: Final = Problem(404, "Schema not found", 40403)
CONFIG: Final = Problem(404, "No settings of that subject", 40408)
MODE: Final = Problem(404, "No mode of that subject", 40409)
INCOMPATIBLE: Final = Problem(409, "Incompatible schema", 409)
INVALID_SCHEMA: Final = Problem(422, "Invalid schema", 42201)
INVALID_VERSION: Final = Problem(422, "Invalid version", 42202)
INVALID_LEVEL: Final = Problem(422, "Invalid compatibility level", 42203)
INVALID_MODE: Final = Problem(422, "Invalid mode", 42204)
NOT_PERMITTED: Final = Problem(422, "Operation not permitted", 42205)
REFERENCED: Final = Problem(422, "Another schema refers to it", 42206)
INVALID_SUBJECT: Final = Problem(422, "Invalid subject", 42208)
INVALID_RULES: Final = Problem(422, "Invalid rule set", 42210)
NO_ASSOCIATION: Final = Problem(404, "No associations of that resource", 40411)
ASSOCIATION_EXISTS: Final = Problem(409, "The resource or the subject has another association", 40911)
ASSOCIATION_FROZEN: Final = Problem(409, "The association is frozen", 40913)
INVALID_ASSOCIATION: Final = Problem(422, "Invalid association", 42212)
NO_EXPORTER: Final = Problem(404, "Exporter not found", 40450)
INVALID_EXPORTER: Final = Problem(409, "The exporter is invalid, exists already or is not paused", 40951)
