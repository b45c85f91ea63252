"""What Confluent's OpenAPI description of the Schema Registry names, and the requests that show our answer.

    python -m tests.registry.api_cases      writes the table of docs/registry.md again

The operations and codes are facts of the public description (version 8.3), with those of the exporters of
Confluent Cloud's. `{s}` in a path is a subject of the case's own.
"""

from __future__ import annotations

from typing import Any

from tests.house.sources import ROOT
from tests.web.api_tables import Ask, Case, absent, write_table

PAGE = ROOT / "docs" / "registry.md"
INT: dict[str, Any] = {"schema": '"int"'}
STRING: dict[str, Any] = {"schema": '"string"'}
BAD: dict[str, Any] = {"schema": "{"}
OWN = {"schema": '{"type":"fixed","name":"F_<n>","size":1}'}
REGISTER = Ask("POST", "/subjects/{s}/versions", OWN)
BASE = "/subjects/{subject}"
VERSION = BASE + "/versions/{version}"
ASSOCIATION = {"resourceName": "t-<s>", "resourceNamespace": "c", "resourceId": "id-<s>",
               "associations": [{"subject": "<s>", "lifecycle": "STRONG", "schema": OWN}]}  # fmt: skip
EXPORTER = {"name": "e-<s>", "subjects": ["none"], "config": {"schema.registry.url": "http://127.0.0.1:9"}}
RESOURCE = "/associations/resources/{resourceId}"
EXPORT = Ask("POST", "/exporters", EXPORTER)
PAUSE = Ask("PUT", "/exporters/e-{s}/pause")


def get(path: str, **params: Any) -> Ask:
    return Ask("GET", path, None, params)


def of_version(method: str, suffix: str = "", body: Any = None) -> list[Case]:
    path, template = f"/subjects/{{s}}/versions/%s{suffix}", VERSION + suffix
    return [
        Case(method, template, 200, [REGISTER, Ask(method, path % 1, body)]),
        Case(method, template, 40401, [Ask(method, path % 1, body)]),
        Case(method, template, 40402, [REGISTER, Ask(method, path % 9, body)]),
        Case(method, template, 42202, [REGISTER, Ask(method, path % "x", body)]),
    ]


def of_id(suffix: str = "") -> list[Case]:
    template = "/schemas/ids/{id}" + suffix
    return [
        Case("GET", template, 200, [REGISTER, get(f"/schemas/ids/1{suffix}")]),
        Case("GET", template, 40403, [get(f"/schemas/ids/999999{suffix}")]),
    ]


def settings(kind: str, body: Any, wrong: Any, code: int, missing: int) -> list[Case]:
    note = f"Without settings of its own a subject is {missing}, as clients expect."
    one = f"/{kind}/{{subject}}"
    return [
        Case("GET", f"/{kind}", 200, [get(f"/{kind}")]),
        Case("PUT", f"/{kind}", 200, [Ask("PUT", f"/{kind}", body)]),
        Case("PUT", f"/{kind}", code, [Ask("PUT", f"/{kind}", wrong)]),
        Case("DELETE", f"/{kind}", 200, [Ask("DELETE", f"/{kind}")]),
        Case("GET", one, 200, [Ask("PUT", f"/{kind}/{{s}}", body), get(f"/{kind}/{{s}}")]),
        Case("GET", one, missing, [get(f"/{kind}/{{s}}")], note),
        Case("PUT", one, 200, [Ask("PUT", f"/{kind}/{{s}}", body)]),
        Case("PUT", one, code, [Ask("PUT", f"/{kind}/{{s}}", wrong)]),
        Case("DELETE", one, 200, [Ask("PUT", f"/{kind}/{{s}}", body), Ask("DELETE", f"/{kind}/{{s}}")]),
        Case("DELETE", one, missing, [Ask("DELETE", f"/{kind}/{{s}}")], note),
    ]


def exporters() -> list[Case]:
    one = "/exporters/{name}"
    found = [
        Case("GET", "/exporters", 200, [get("/exporters")]),
        Case("POST", "/exporters", 200, [EXPORT]),
        Case("POST", "/exporters", 40950, [Ask("POST", "/exporters", {**EXPORTER, "name": ""})]),
        Case("POST", "/exporters", 40951, [Ask("POST", "/exporters", {"name": "e-<s>"})]),
        Case("POST", "/exporters", 40952, [Ask("POST", "/exporters", {**EXPORTER, "subjects": []})]),
        Case("POST", "/exporters", 40960, [EXPORT, EXPORT]),
        Case("POST", "/exporters", 40964, (), "40964 beyond 100 exporters."),
    ]
    for method, suffix, body in (("GET", "", None), ("GET", "/config", None), ("GET", "/status", None),
                                 ("PUT", "/pause", None), ("PUT", "/resume", None)):  # fmt: skip
        path = f"/exporters/e-{{s}}{suffix}"
        found += [
            Case(method, one + suffix, 200, [EXPORT, Ask(method, path, body)]),
            Case(method, one + suffix, 40450, [Ask(method, path, body)]),
        ]
    config = {"schema.registry.url": "http://127.0.0.1:10"}
    for suffix, body in (("", {"subjects": ["other"]}), ("/config", config), ("/reset", None)):
        path = f"/exporters/e-{{s}}{suffix}"
        found += [
            Case("PUT", one + suffix, 200, [EXPORT, PAUSE, Ask("PUT", path, body)]),
            Case("PUT", one + suffix, 40450, [Ask("PUT", path, body)]),
            Case("PUT", one + suffix, 40963, [EXPORT, Ask("PUT", path, body)]),
        ]
    return [
        *found,
        Case("DELETE", one, 204, [EXPORT, Ask("DELETE", "/exporters/e-{s}")]),
        Case("DELETE", one, 40450, [Ask("DELETE", "/exporters/e-{s}")]),
    ]


def associations() -> list[Case]:
    make = Ask("POST", "/associations", ASSOCIATION)
    weak = {**ASSOCIATION, "associations": [{"lifecycle": "WEAK"}]}
    other = {**ASSOCIATION, "resourceId": "id2-<s>"}
    frozen = {**ASSOCIATION, "associations": [{**ASSOCIATION["associations"][0], "frozen": True}]}  # type: ignore[dict-item]
    found = []
    for method, path, template in (("POST", "/associations", "/associations"),
                                   ("PUT", "/associations/resources/id-{s}", RESOURCE)):  # fmt: skip
        found += [
            Case(method, template, 200, [Ask(method, path, ASSOCIATION)]),
            Case(method, template, 42212, [Ask(method, path, {**ASSOCIATION, "resourceName": ""})]),
        ]
    return [
        *found,
        Case("POST", "/associations", 40911, [make, Ask("POST", "/associations", weak)]),
        Case("POST", "/associations", 40912, [make, Ask("POST", "/associations", other)]),
        Case("GET", RESOURCE, 200, [make, get("/associations/resources/id-{s}")]),
        Case("DELETE", RESOURCE, 204, [make, Ask("DELETE", "/associations/resources/id-{s}")]),
        Case("DELETE", RESOURCE, 404, [Ask("DELETE", "/associations/resources/id-{s}")]),
        Case("DELETE", RESOURCE, 409, [Ask("POST", "/associations", frozen),
                                       Ask("DELETE", "/associations/resources/id-{s}")],
             "`async` is not needed: a deletion is answered when it is done."),
        Case("GET", "/associations/resources/{resourceNamespace}/{resourceName}", 200,
             [make, get("/associations/resources/c/t-{s}")]),
        Case("GET", "/associations/subjects/{subject}", 200, [make, get("/associations/subjects/{s}")]),
        Case("POST", "/associations:batch", 207, [Ask("POST", "/associations:batch", {"requests": []})]),
    ]  # fmt: skip


def compatibility() -> list[Case]:
    path, template = "/compatibility/subjects/{s}/versions", "/compatibility/subjects/{subject}/versions"
    one = template + "/{version}"
    return [
        Case("POST", template, 200, [REGISTER, Ask("POST", path, OWN)]),
        Case("POST", template, 42201, [Ask("POST", path, BAD)]),
        Case("POST", one, 200, [REGISTER, Ask("POST", f"{path}/latest", OWN)]),
        Case("POST", one, 40401, [Ask("POST", f"{path}/1", OWN)]),
        Case("POST", one, 40402, [REGISTER, Ask("POST", f"{path}/9", OWN)]),
        Case("POST", one, 42201, [REGISTER, Ask("POST", f"{path}/1", BAD)]),
        Case("POST", one, 42202, [REGISTER, Ask("POST", f"{path}/x", OWN)]),
    ]


def subjects() -> list[Case]:
    versions = BASE + "/versions"
    with_key = {"key": "owner", "value": "me"}
    owned = Ask("POST", "/subjects/{s}/versions", {**OWN, "metadata": {"properties": {"owner": "me"}}})
    incompatible = [Ask("POST", "/subjects/{s}/versions", INT), Ask("POST", "/subjects/{s}/versions", STRING)]
    deleted = [REGISTER, Ask("DELETE", "/subjects/{s}")]
    tags = {"tagsToAdd": [{"schemaEntity": {"entityPath": "x", "entityType": "sr_field"}, "tags": ["A"]}]}
    record = Ask("POST", "/subjects/{s}/versions", {"schema": '{"type":"record","name":"R","fields":[]}'})
    on_record = {
        "tagsToAdd": [{"schemaEntity": {"entityPath": "R", "entityType": "sr_record"}, "tags": ["A"]}]
    }
    return [
        Case("GET", "/subjects", 200, [get("/subjects")]),
        Case("POST", BASE, 200, [REGISTER, Ask("POST", "/subjects/{s}", OWN)]),
        Case("POST", BASE, 40401, [Ask("POST", "/subjects/{s}", OWN)]),
        Case("POST", BASE, 40403, [REGISTER, Ask("POST", "/subjects/{s}", STRING)]),
        Case("DELETE", BASE, 200, deleted),
        Case("DELETE", BASE, 40401, [Ask("DELETE", "/subjects/{s}")]),
        Case("DELETE", BASE, 40404, [*deleted, Ask("DELETE", "/subjects/{s}")]),
        Case("DELETE", BASE, 40405, [REGISTER, Ask("DELETE", "/subjects/{s}", None, {"permanent": "true"})]),
        Case("GET", f"{BASE}/metadata", 200, [owned, Ask("GET", "/subjects/{s}/metadata", None, with_key)]),
        Case("GET", f"{BASE}/metadata", 40401, [get("/subjects/{s}/metadata")]),
        Case(
            "GET", f"{BASE}/metadata", 40403, [REGISTER, Ask("GET", "/subjects/{s}/metadata", None, with_key)]
        ),
        Case("GET", versions, 200, [REGISTER, get("/subjects/{s}/versions")]),
        Case("GET", versions, 40401, [get("/subjects/{s}/versions")]),
        Case("POST", versions, 200, [REGISTER]),
        Case("POST", versions, 409, incompatible),
        Case("POST", versions, 42201, [Ask("POST", "/subjects/{s}/versions", BAD)]),
        *of_version("GET"),
        *of_version("DELETE"),
        Case("DELETE", VERSION, 40406, [REGISTER, *[Ask("DELETE", "/subjects/{s}/versions/1")] * 2]),
        *of_version("GET", "/schema"),
        *of_version("GET", "/referencedby"),
        Case(
            "POST", f"{VERSION}/tags", 200, [record, Ask("POST", "/subjects/{s}/versions/1/tags", on_record)]
        ),
        Case(
            "POST", f"{VERSION}/tags", 42201, [REGISTER, Ask("POST", "/subjects/{s}/versions/1/tags", tags)]
        ),
    ]


def schemas() -> list[Case]:
    guid = "/schemas/guids/{guid}"
    known = "00000000-0000-0000-0000-000000000000"
    return [
        Case("GET", "/schemas", 200, [get("/schemas")]),
        Case("GET", "/schemas/types", 200, [get("/schemas/types")]),
        *of_id(), *of_id("/schema"), *of_id("/subjects"), *of_id("/versions"),
        Case("GET", guid, 200, [REGISTER, get("/schemas/guids/{guid}")]),
        Case("GET", guid, 40403, [get(f"/schemas/guids/{known}")]),
        Case("GET", f"{guid}/ids", 200, [REGISTER, get("/schemas/guids/{guid}/ids")]),
        Case("GET", f"{guid}/ids", 40403, [get(f"/schemas/guids/{known}/ids")]),
    ]  # fmt: skip


def about() -> list[Case]:
    context = "/contexts/{context}"
    in_context = Ask("POST", "/subjects/:.c-{s}:x/versions", INT)
    gone = [
        in_context,
        *(Ask("DELETE", "/subjects/:.c-{s}:x", None, {"permanent": p}) for p in ("false", "true")),
    ]
    return [
        Case("GET", "/", 200, [get("/")]),
        Case("POST", "/", 200, [Ask("POST", "/", {})]),
        Case("GET", "/contexts", 200, [get("/contexts")]),
        Case("DELETE", context, 204, [*gone, Ask("DELETE", "/contexts/.c-{s}")]),
        Case("DELETE", context, 40401, [Ask("DELETE", "/contexts/.nowhere-{s}")]),
        Case("DELETE", context, 42205, [in_context, Ask("DELETE", "/contexts/.c-{s}")],
             "42205 when it is not empty."),
        *(Case("GET", f"/v1/metadata/{part}", 200, [get(f"/v1/metadata/{part}")])
          for part in ("id", "version", "deployment")),
    ]  # fmt: skip


OF_CLOUD = "Of Confluent Cloud."
OF_ENCRYPTION = "Of Confluent's encryption add-on: our clients keep keys in a file (client.md)."
OF_CATALOG = "Of Confluent's catalog: tags stand in the schema itself."


def not_there() -> list[Case]:
    """What Confluent Cloud's description has beyond the registry's own."""
    kek = "/dek-registry/v1/keks/{name}"
    dek = f"{kek}/deks/{{subject}}"
    version = f"{dek}/versions/{{version}}"
    entity, types = "/catalog/v1/entity", "/catalog/v1/types"
    of_entity = f"{entity}/type/{{typeName}}/name/{{qualifiedName}}"
    found = [("GET", "/exporters/{name}/config/clusterlink", OF_CLOUD)]
    for methods, path in (
        ("GET POST", "/dek-registry/v1/keks"), ("GET PUT DELETE", kek), ("POST", f"{kek}/undelete"),
        ("GET POST", f"{kek}/deks"), ("GET DELETE", dek), ("POST", f"{dek}/undelete"),
        ("GET", f"{dek}/versions"), ("GET DELETE", version), ("POST", f"{version}/undelete"),
    ):  # fmt: skip
        found += [(method, path, OF_ENCRYPTION) for method in methods.split()]
    for methods, path in (
        ("POST PUT", entity), ("POST PUT", f"{entity}/tags"), ("POST PUT", f"{entity}/businessmetadata"),
        ("GET DELETE", of_entity), ("GET", f"{of_entity}/tags"), ("DELETE", f"{of_entity}/tags/{{tagName}}"),
        ("GET", f"{of_entity}/businessmetadata"), ("DELETE", f"{of_entity}/businessmetadata/{{bmName}}"),
        ("GET", "/catalog/v1/search/attribute"), ("GET", "/catalog/v1/search/basic"),
        ("GET POST PUT", f"{types}/tagdefs"), ("GET DELETE", f"{types}/tagdefs/{{tagName}}"),
        ("GET POST PUT", f"{types}/businessmetadatadefs"),
        ("GET DELETE", f"{types}/businessmetadatadefs/{{bmName}}"),
    ):  # fmt: skip
        found += [(method, path, OF_CATALOG) for method in methods.split()]
    found += [("PUT", "/asyncapi", OF_CLOUD), ("PUT", "/asyncapi/parse", OF_CLOUD)]
    return [
        absent(method, path, 404, path.replace("{", "").replace("}", ""), why) for method, path, why in found
    ]


CASES = (
    *about(),
    *subjects(),
    *schemas(),
    *compatibility(),
    *settings("config", {"compatibility": "BACKWARD"}, {"compatibility": "SIDEWAYS"}, 42203, 40408),
    *settings("mode", {"mode": "READWRITE"}, {"mode": "SIDEWAYS"}, 42204, 40409),
    *associations(),
    *exporters(),
    *not_there(),
)

if __name__ == "__main__":
    write_table(PAGE, CASES)
