"""Data contracts: the metadata and rules that a new version gets, and the fields that it may not have.

A version gets what its request names, or what the version before it has; around that go the defaults and the
overrides of the subject's settings. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from penstock.registry.records import ConfigValue, SchemaValue

RESERVED: Final = "confluent:reserved"
"""The property that names fields which no schema may have, with commas between them."""
VERSION: Final = "confluent:version"
"""The property that names the version which its schema was registered as. The registry keeps it true."""
_RULES: Final = ("migrationRules", "domainRules", "encodingRules")

Part = dict[str, Any] | None


def merged_metadata(config: ConfigValue, given: Part, before: SchemaValue | None) -> Part:
    own = given if given is not None else before.metadata if before is not None else None
    return _merged(_merge_metadata, (config.default_metadata, own, config.override_metadata))


def merged_rules(config: ConfigValue, given: Part, before: SchemaValue | None) -> Part:
    own = given if given is not None else before.rule_set if before is not None else None
    return _merged(_merge_rules, (config.default_rule_set, own, config.override_rule_set))


def in_group(group: str, one: Part, other: Part) -> bool:
    """Whether two versions are compared: those whose property differs are not."""
    values = [value for each in (one, other) if (value := property_of(each, group)) is not None]
    return len(values) < 2 or values[0] == values[1]


def property_of(metadata: Part, name: str) -> Any:
    properties = (metadata or {}).get("properties")
    return properties.get(name) if isinstance(properties, dict) else None


def with_property(metadata: Part, name: str, value: str | None) -> dict[str, Any]:
    """Metadata with a property set, or taken away; parts that are left empty go, too."""
    out = dict(metadata or {})
    properties = {key: each for key, each in (out.pop("properties", None) or {}).items() if key != name}
    if value is not None:
        properties[name] = value
    return {**out, "properties": properties} if properties else out


def without_rules(rule_set: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    gone = set(names)
    return {
        kind: [rule for rule in each if rule.get("name") not in gone] if isinstance(each, list) else each
        for kind, each in rule_set.items()
    }


def reserved_fields(metadata: Part) -> set[str]:
    text = property_of(metadata, RESERVED)
    return {name.strip() for name in str(text).split(",") if name.strip()} if text else set()


def reserved_conflicts(metadata: Part, fields: Iterable[str], before: SchemaValue | None) -> list[str]:
    """What is wrong with the reserved fields of a new version; none when nothing is."""
    reserved = reserved_fields(metadata)
    found = [f"The new schema has field that conflicts with the reserved field {name}."
             for name in sorted(reserved.intersection(fields))]  # fmt: skip
    lost = reserved_fields(before.metadata) - reserved if before is not None else set()
    return found + [
        f"The new schema has reserved field {name} removed from its metadata which is present in the old "
        "schema's metadata."
        for name in sorted(lost)
    ]


def _merged(merge: Any, parts: Iterable[Part]) -> Part:
    found: Part = None
    for part in parts:
        if part is not None:
            found = part if found is None else merge(found, part)
    return found


def _merge_metadata(wide: dict[str, Any], narrow: dict[str, Any]) -> dict[str, Any]:
    """Tags of one path are put together, properties of the second win, sensitive ones are of both."""
    out: dict[str, Any] = {**wide, **narrow}
    for name in ("tags", "properties"):
        one, other = wide.get(name) or {}, narrow.get(name) or {}
        if one or other:
            out[name] = {**one, **other}
    tags, of_wide = out.get("tags"), wide.get("tags") or {}
    if isinstance(tags, dict):
        out["tags"] = {
            path: list(dict.fromkeys([*of_wide.get(path, ()), *named])) for path, named in tags.items()
        }
    sensitive = [*(wide.get("sensitive") or ()), *(narrow.get("sensitive") or ())]
    if sensitive:
        out["sensitive"] = list(dict.fromkeys(sensitive))
    return out


def _merge_rules(wide: dict[str, Any], narrow: dict[str, Any]) -> dict[str, Any]:
    """Rules of the second replace those of the first with the same name, and come behind the others."""
    out: dict[str, Any] = {**wide, **narrow}
    for kind in _RULES:
        one, other = wide.get(kind) or [], narrow.get(kind) or []
        names = {rule.get("name") for rule in other}
        if one or other:
            out[kind] = [*(rule for rule in one if rule.get("name") not in names), *other]
    return out
