"""Refusals with Confluent's codes and words."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.web.errors import HttpError


def subject_not_found(subject: str) -> HttpError:
    return HttpError(404, f"Subject '{subject}' not found.", 40401)


def version_not_found(version: object) -> HttpError:
    return HttpError(404, f"Version {version} not found.", 40402)


def schema_not_found(schema_id: object | None = None) -> HttpError:
    return HttpError(404, f"Schema {schema_id} not found" if schema_id else "Schema not found", 40403)


def subject_soft_deleted(subject: str) -> HttpError:
    told = f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently"
    return HttpError(404, told, 40404)


def subject_not_soft_deleted(subject: str) -> HttpError:
    told = f"Subject '{subject}' was not deleted first before being permanently deleted"
    return HttpError(404, told, 40405)


def version_soft_deleted(subject: str, version: int) -> HttpError:
    told = f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete permanently"
    return HttpError(404, told, 40406)


def version_not_soft_deleted(subject: str, version: int) -> HttpError:
    told = f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    return HttpError(404, told, 40407)


def context_not_found(context: str) -> HttpError:
    return HttpError(404, f"Context '{context[:80]}' not found.", 40401)


def no_subject_config(subject: str) -> HttpError:
    return HttpError(404, f"Subject '{subject}' does not have subject-level compatibility configured", 40408)


def no_subject_mode(subject: str) -> HttpError:
    return HttpError(404, f"Subject '{subject}' does not have subject-level mode configured", 40409)


def incompatible(subject: str, reasons: list[str]) -> HttpError:
    told = f'Schema being registered is incompatible with an earlier schema for subject "{subject}"'
    return HttpError(409, f"{told}, details: [{', '.join(reasons)}]", 409)


def invalid_schema(why: str) -> HttpError:
    return HttpError(422, f"Invalid schema: {why}", 42201)


def invalid_version(version: str) -> HttpError:
    told = f"The specified version '{version[:80]}' is not a valid version id. Allowed values are between "
    return HttpError(422, told + '[1, 2^31-1] and the string "latest"', 42202)


def invalid_level(level: object) -> HttpError:
    told = (
        f"Invalid compatibility level {str(level)[:80]!r}. Valid values are none, backward, forward, full, "
    )
    return HttpError(422, told + "backward_transitive, forward_transitive, and full_transitive", 42203)


def invalid_mode(mode: object) -> HttpError:
    told = f"Invalid mode {str(mode)[:80]!r}. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT"
    return HttpError(422, told, 42204)


def not_permitted(why: str) -> HttpError:
    return HttpError(422, why, 42205)


def reference_exists(subject: str, version: int) -> HttpError:
    told = f"One or more references exist to the schema {{magic=1,keytype=SCHEMA,subject={subject},"
    return HttpError(422, f"{told}version={version}}}.", 42206)


def id_does_not_match(why: str) -> HttpError:
    return HttpError(422, why, 42207)


def invalid_subject(subject: str) -> HttpError:
    return HttpError(422, f"The specified subject '{subject[:80]}' is not a valid subject.", 42208)


def too_large(size_bytes: int, size_max: int) -> HttpError:
    told = f"Write failed because schema is too large: {size_bytes} bytes, of which {size_max} are taken."
    return HttpError(422, told, 42209)


def invalid_rules(why: str) -> HttpError:
    return HttpError(422, f"Invalid rule set: {why}", 42210)


def association_not_found(resource: str) -> HttpError:
    return HttpError(404, f"No associations found for the resource '{resource[:80]}'.", 40411)


def association_exists(resource: str, kind: str) -> HttpError:
    told = f"The resource '{resource[:80]}' has another association of the type {kind} already."
    return HttpError(409, told, 40911)


def too_many_associations(subject: str) -> HttpError:
    told = f"The subject '{subject[:80]}' belongs to one resource and cannot have two associations."
    return HttpError(409, told, 40912)


def association_frozen(resource: str, kind: str) -> HttpError:
    told = f"The association of the type {kind} of the resource '{resource[:80]}' is frozen."
    return HttpError(409, told, 40913)


def invalid_association(name: str, value: object, allowed: Iterable[str]) -> HttpError:
    told = f"Invalid association: {name} is {str(value)[:80]!r}; it must be {' or '.join(allowed)}."
    return HttpError(422, told, 42212)


def exporter_not_found(name: str) -> HttpError:
    return HttpError(404, f"Exporter '{name[:80]}' not found.", 40450)


def invalid_exporter(field: str, code: int, why: str) -> HttpError:
    return HttpError(409, f"Missing or invalid exporter {field}. {why}", code)


def exporter_exists(name: str) -> HttpError:
    return HttpError(409, f"Exporter '{name[:80]}' already exists.", 40960)


def exporter_not_paused(name: str) -> HttpError:
    return HttpError(409, f"Exporter '{name[:80]}' is not paused.", 40963)


def too_many_exporters(most: int) -> HttpError:
    return HttpError(409, f"There are {most} exporters, which is the most that there may be.", 40964)


def not_supported(field: str) -> HttpError:
    return HttpError(422, f"{field} is not supported by this registry. Leave it out.", 42205)


def denied(principal: str, operation: str) -> HttpError:
    return HttpError(403, f"{principal} is denied operation {operation}.", 40301)


def store_failed(why: str) -> HttpError:
    return HttpError(500, f"Error in the backend data store: {why}", 50001)


def timed_out(why: str) -> HttpError:
    return HttpError(500, f"Operation timed out: {why}", 50002)
