"""Contexts: spaces of subjects and ids, by qualified names and by base paths."""

from __future__ import annotations

import httpx
import pytest

from penstock.registry.context_paths import rewritten
from penstock.registry.deleting import decide_delete_context
from penstock.registry.state import State
from penstock.web import HttpError

INT, LONG = {"schema": '"int"'}, {"schema": '"long"'}


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/contexts/.c", "", ("/contexts/.c", "")),
        ("/contexts/.c/", "", ("/contexts/.c/", "")),
        ("/contexts/:.c:/subjects", "", ("/subjects", "subjectPrefix=%3A.c%3A")),
        ("/contexts/%3A.c%3A/config", "", ("/config/%3A.c%3A", "")),
        ("/contexts/.c/subjects", "deleted=true", ("/subjects", "deleted=true&subjectPrefix=%3A.c%3A")),
        ("/contexts/.c/subjects", "subjectPrefix=a", ("/subjects", "subjectPrefix=%3A.c%3Aa")),
        ("/contexts/.c/subjects/s%2Ft/versions/1", "", ("/subjects/%3A.c%3As%2Ft/versions/1", "")),
        ("/contexts/.c/subjects/%3A.d%3As", "", ("/subjects/%3A.d%3As", "")),
        ("/contexts/c/subjects/s", "", ("/subjects/%3A.c%3As", "")),
        ("/contexts/.c/config", "", ("/config/%3A.c%3A", "")),
        ("/contexts/.c/mode/s", "force=true", ("/mode/%3A.c%3As", "force=true")),
        (
            "/contexts/.c/compatibility/subjects/s/versions",
            "",
            ("/compatibility/subjects/%3A.c%3As/versions", ""),
        ),
        ("/contexts/.c/schemas/ids/1", "", ("/schemas/ids/1", "subject=%3A.c%3A")),
        ("/contexts/.c/schemas/ids/1", "subject=s", ("/schemas/ids/1", "subject=%3A.c%3As")),
        ("/contexts/.c/schemas", "", ("/schemas", "subjectPrefix=%3A.c%3A")),
        ("/contexts/.c/schemas/types", "", ("/schemas/types", "")),
        ("/contexts/./subjects/s", "", ("/subjects/%3A.%3As", "")),
    ],
)
def test_a_base_path_means_the_same_path_with_its_subjects_in_the_context(
    path: str, query: str, expected: tuple[str, str]
) -> None:
    assert rewritten(path, query) == expected


def test_everything_works_below_the_base_path_of_a_context(http: httpx.Client, subject: str) -> None:
    base = f"/contexts/.base-{subject}"
    assert http.post(f"{base}/subjects/s/versions", json=INT).json()["id"] == 1
    assert http.post(f"{base}/subjects/s", json=INT).json()["subject"] == f":.base-{subject}:s"
    assert http.get(f"{base}/subjects").json() == [f":.base-{subject}:s"]
    assert http.get(f"{base}/subjects/s/versions").json() == [1]
    assert http.get(f"{base}/schemas/ids/1").json()["schema"] == '"int"'
    assert [each["subject"] for each in http.get(f"{base}/schemas").json()] == [f":.base-{subject}:s"]
    assert http.put(f"{base}/config", json={"compatibility": "NONE"}).status_code == 200
    assert http.get(f"/config/:.base-{subject}:").json()["compatibilityLevel"] == "NONE"
    check = http.post(f"{base}/compatibility/subjects/s/versions", json={"schema": '"string"'})
    assert check.json()["is_compatible"] is True
    assert http.put(f"{base}/mode/s", json={"mode": "READONLY"}).status_code == 200
    assert http.post(f"{base}/subjects/s/versions", json=LONG).json()["error_code"] == 42205
    assert http.get(f"{base}/subjects/s/versions/1", params={"deleted": True}).json()["version"] == 1


def test_all_subjects_are_listed_and_schemas_of_the_default_context_only(
    http: httpx.Client, subject: str
) -> None:
    http.post(f"/subjects/{subject}/versions", json=INT)
    http.post(f"/subjects/:.list-{subject}:{subject}/versions", json=INT)
    both = {subject, f":.list-{subject}:{subject}"}
    assert both <= set(http.get("/subjects").json())
    assert both & set(http.get("/subjects", params={"subjectPrefix": ":"}).json()) == {subject}
    assert both & {each["subject"] for each in http.get("/schemas").json()} == {subject}
    everywhere = http.get("/schemas", params={"subjectPrefix": ":*:"}).json()
    assert both <= {each["subject"] for each in everywhere}


def test_a_subject_without_a_context_is_found_in_another_when_the_default_has_none(
    http: httpx.Client, subject: str
) -> None:
    qualified = f":.found-{subject}:{subject}"
    made = http.post(
        f"/subjects/{qualified}/versions", json={"schema": '{"type":"fixed","name":"F","size":7}'}
    )
    text = http.get(f"/subjects/{subject}/versions/latest").json()
    assert (text["subject"], text["version"]) == (qualified, 1)
    looked_up = http.post(f"/subjects/{subject}", json={"schema": '{"type":"fixed","name":"F","size":7}'})
    assert looked_up.json()["subject"] == qualified
    by_id = http.get(f"/schemas/ids/{made.json()['id']}", params={"subject": subject}).json()
    assert by_id["schema"] == '{"type":"fixed","name":"F","size":7}'
    http.post(f"/subjects/{subject}/versions", json=INT)
    assert http.get(f"/subjects/{subject}/versions/latest").json()["subject"] == subject


def test_settings_of_the_global_context_hold_in_every_context_without_its_own(
    http: httpx.Client, subject: str
) -> None:
    context = f":.glob-{subject}:"
    try:
        http.put("/config/:.__GLOBAL:", json={"compatibility": "NONE"})
        effective = http.get(f"/config/{context}s", params={"defaultToGlobal": True}).json()
        assert effective["compatibilityLevel"] == "NONE"
        http.put(f"/config/{context}", json={"compatibility": "FULL"})
        effective = http.get(f"/config/{context}s", params={"defaultToGlobal": True}).json()
        assert effective["compatibilityLevel"] == "FULL"
        http.put("/mode/:.__GLOBAL:", json={"mode": "READONLY"})
        assert http.post(f"/subjects/{context}s/versions", json=INT).json()["error_code"] == 42205
    finally:
        http.delete("/config/:.__GLOBAL:")
        http.delete("/mode/:.__GLOBAL:")
    assert http.post(f"/subjects/{context}s/versions", json=INT).status_code == 200


def test_a_context_is_deleted_when_it_is_empty(http: httpx.Client, subject: str) -> None:
    context = f".gone-{subject}"
    http.post(f"/subjects/:{context}:s/versions", json=INT)
    http.put(f"/config/:{context}:", json={"compatibility": "NONE"})
    assert context in http.get("/contexts").json()
    assert http.delete(f"/contexts/{context}").json()["error_code"] == 42205
    for permanent in ("false", "true"):
        http.delete(f"/subjects/:{context}:s", params={"permanent": permanent})
    assert http.delete(f"/contexts/{context}").status_code == 204
    assert context not in http.get("/contexts").json()
    assert http.delete(f"/contexts/{context}").status_code == 404
    with pytest.raises(HttpError, match="default context cannot be deleted"):
        decide_delete_context(State(), ".")
    assert http.get(f"/config/:{context}:").json()["error_code"] == 40408
    assert http.post(f"/subjects/:{context}:s/versions", json=LONG).json()["id"] == 1


def test_a_reference_within_a_context_keeps_its_target(http: httpx.Client, subject: str) -> None:
    context = f":.ref-{subject}:"
    inner = '{"type":"record","name":"In","fields":[]}'
    http.post(f"/subjects/{context}in/versions", json={"schema": inner})
    outer = '{"type":"record","name":"Out","fields":[{"name":"i","type":"In"}]}'
    refers = [{"name": "In", "subject": "in", "version": 1}]
    made = http.post(f"/subjects/{context}out/versions", json={"schema": outer, "references": refers})
    assert made.status_code == 200, made.text
    assert http.get(f"/subjects/{context}in/versions/1/referencedby").json() == [made.json()["id"]]
    assert http.delete(f"/subjects/{context}in").json()["error_code"] == 42206


def test_contexts_are_listed_by_their_prefix(http: httpx.Client, subject: str) -> None:
    for name in ("pa", "pb"):
        http.post(f"/subjects/:.{name}-{subject}:s/versions", json={"schema": '"int"'})
    assert http.get("/contexts", params={"contextPrefix": f".pa-{subject}"}).json() == [f".pa-{subject}"]


def test_references_are_told_in_full_when_asked(http: httpx.Client, subject: str) -> None:
    context = f":.ref-{subject}:"
    http.post(f"/subjects/{context}base/versions", json={"schema": '{"type":"fixed","name":"F","size":1}'})
    body = {"schema": '{"type":"array","items":"F"}',
            "references": [{"name": "F", "subject": "base", "version": 1}]}  # fmt: skip
    assert http.post(f"/subjects/{context}user/versions", json=body).status_code == 200
    path = f"/subjects/{context}user/versions/1"
    assert http.get(path).json()["references"][0]["subject"] == "base"
    whole = http.get(path, params={"referenceFormat": "qualified"}).json()
    assert whole["references"][0]["subject"] == f"{context}base"


def test_deleting_the_mode_of_the_registry_recursively_reaches_the_default_context_alone(
    http: httpx.Client, subject: str
) -> None:
    for scope in (subject, f":.mode-{subject}:s"):
        http.put(f"/mode/{scope}", json={"mode": "READONLY"})
    assert http.delete("/mode", params={"recursive": True}).json() == {"mode": None}
    assert http.get(f"/mode/{subject}").json()["error_code"] == 40409
    assert http.get(f"/mode/:.mode-{subject}:s").json() == {"mode": "READONLY"}
    http.delete(f"/mode/:.mode-{subject}:s")
