"""Exporters: schemas of one registry come to another, with their ids, versions, references and deletions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from penstock.registry.exporting import copies, decide_claim, decide_create, destination, is_wanted
from penstock.registry.records import ExporterValue
from penstock.registry.requests import ExporterRequest
from penstock.registry.state import State
from penstock.registry.subjects import Subject, parse_subject
from penstock.testing import Broker
from tests.registry.processes import RegistryProcess


@pytest.fixture(scope="module")
def other(broker: Broker) -> Iterator[RegistryProcess]:
    with RegistryProcess(broker.bootstrap_servers, "kafkastore.topic=_schemas_of_the_other") as registry:
        yield registry


@pytest.fixture(scope="module")
def there(other: RegistryProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=other.url, timeout=20) as client:
        yield client


def eventually(ask: Callable[[], Any], wanted: Any) -> None:
    deadline = time.monotonic() + 20
    while (found := ask()) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def register(http: httpx.Client, subject: str, schema: str, **more: Any) -> dict[str, Any]:
    answer = http.post(f"/subjects/{subject}/versions", json={"schema": schema, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def fixed(name: str, size: int = 1) -> str:
    return f'{{"type":"fixed","name":"{name}","size":{size}}}'


def export(http: httpx.Client, name: str, other: RegistryProcess, **more: Any) -> None:
    body = {"name": name, "config": {"schema.registry.url": other.url}, **more}
    answer = http.post("/exporters", json=body)
    assert (answer.status_code, answer.json()) == (200, {"name": name}), answer.text


def refused(answer: httpx.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["error_code"]


def versions(there: httpx.Client, subject: str) -> Any:
    return there.get(f"/subjects/{subject}/versions").json()


def test_schemas_come_with_their_ids_references_and_deletions(
    http: httpx.Client, there: httpx.Client, other: RegistryProcess, subject: str
) -> None:
    name = subject.replace("-", "_")
    base = register(http, f"{subject}-base", fixed(name))
    refers = [{"name": name, "subject": f"{subject}-base", "version": 1}]
    user = register(http, f"{subject}-user", f'{{"type":"array","items":"{name}"}}', references=refers)
    export(
        http, f"e-{subject}", other, contextType="CUSTOM", context=f"c-{subject}", subjects=[f"{subject}-*"]
    )
    at = f":.c-{subject}:{subject}"
    eventually(lambda: versions(there, f"{at}-user"), [1])
    found = there.get(f"/subjects/{at}-user/versions/1").json()
    assert found["id"] == user["id"]
    assert found["references"][0]["subject"] == f"{at}-base"
    assert there.get(f"/subjects/{at}-base/versions/1").json()["id"] == base["id"]
    assert there.get(f"/mode/:.c-{subject}:").json() == {"mode": "IMPORT"}
    register(http, f"{subject}-late", fixed(f"{name}_late"))
    eventually(lambda: versions(there, f"{at}-late"), [1])
    http.delete(f"/subjects/{subject}-late/versions/1")
    eventually(lambda: there.get(f"/subjects/{at}-late/versions").status_code, 404)
    assert there.get(f"/subjects/{at}-late/versions", params={"deleted": True}).json() == [1]
    http.delete(f"/subjects/{subject}-late/versions/1", params={"permanent": True})
    eventually(lambda: there.get(f"/subjects/{at}-late/versions", params={"deleted": True}).status_code, 404)
    status = http.get(f"/exporters/e-{subject}/status").json()
    assert (status["state"], status["trace"], status["offset"] > 0) == ("RUNNING", "", True)
    http.delete(f"/exporters/e-{subject}")
    assert versions(there, f"{at}-user") == [1], "what was copied stays"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"contextType": "NONE"}, "{s}"),
        ({"contextType": "DEFAULT", "subjectRenameFormat": "dc_${subject}"}, "dc_{s}"),
        ({}, ":.{cluster}:{s}"),
    ],
)
def test_subjects_are_named_as_the_exporter_says(
    http: httpx.Client,
    there: httpx.Client,
    other: RegistryProcess,
    subject: str,
    settings: dict[str, str],
    expected: str,
) -> None:
    register(http, subject, fixed(subject.replace("-", "_")))
    export(http, f"e-{subject}", other, subjects=[subject], **settings)
    cluster = http.get("/v1/metadata/id").json()["scope"]["clusters"]["kafka-cluster"]
    eventually(lambda: versions(there, expected.format(s=subject, cluster=cluster)), [1])
    http.delete(f"/exporters/e-{subject}")


def test_an_exporter_is_paused_changed_reset_and_resumed(
    http: httpx.Client, there: httpx.Client, other: RegistryProcess, subject: str
) -> None:
    name, path = f"e-{subject}", f"/exporters/e-{subject}"
    register(http, subject, fixed(subject.replace("-", "_")))
    export(http, name, other, contextType="CUSTOM", context=f"a-{subject}", subjects=[subject])
    assert name in http.get("/exporters").json()
    eventually(lambda: versions(there, f":.a-{subject}:{subject}"), [1])
    eventually(lambda: http.get(f"{path}/status").json()["state"], "RUNNING")
    for answer in (http.put(path, json={"context": "b"}), http.put(f"{path}/reset")):
        assert refused(answer) == (409, 40963)
    assert http.put(f"{path}/pause").json() == {"name": name}
    assert http.get(f"{path}/status").json()["state"] == "PAUSED"
    assert http.put(path, json={"context": f"b-{subject}"}).json() == {"name": name}
    assert http.put(f"{path}/reset").json() == {"name": name}
    config = {"schema.registry.url": other.url, "basic.auth.user.info": "me:secret"}
    assert http.put(f"{path}/config", json=config).json() == {"name": name}
    assert http.get(f"{path}/config").json() == {**config, "basic.auth.user.info": "[hidden]"}
    assert http.get(path).json() == {
        "name": name,
        "contextType": "CUSTOM",
        "context": f"b-{subject}",
        "subjects": [subject],
        "subjectRenameFormat": "${subject}",
        "config": {**config, "basic.auth.user.info": "[hidden]"},
    }
    http.put(f"{path}/resume")
    eventually(lambda: versions(there, f":.b-{subject}:{subject}"), [1])
    assert http.delete(path).status_code == 204
    assert refused(http.get(f"{path}/status")) == (404, 40450)


def test_what_is_wrong_with_an_exporter_has_its_own_code(
    http: httpx.Client, other: RegistryProcess, subject: str
) -> None:
    config = {"schema.registry.url": other.url}
    for code, body in (
        (40950, {"config": config}),
        (40951, {"name": "x"}),
        (40951, {"name": "x", "config": config, "contextType": "SIDEWAYS"}),
        (40952, {"name": "x", "config": config, "subjects": []}),
    ):
        assert refused(http.post("/exporters", json=body)) == (409, code)
    export(http, f"e-{subject}", other, subjects=["nothing"])
    body = {"name": f"e-{subject}", "config": config}
    assert refused(http.post("/exporters", json=body)) == (409, 40960)
    assert refused(http.put("/exporters/nobody/pause")) == (404, 40450)
    http.delete(f"/exporters/e-{subject}")


def test_a_registry_that_does_not_answer_is_told_in_the_status(http: httpx.Client, subject: str) -> None:
    register(http, subject, fixed(subject.replace("-", "_")))
    body = {"name": f"e-{subject}", "config": {"schema.registry.url": "http://127.0.0.1:9"}}
    http.post("/exporters", json={**body, "subjects": [subject]})
    eventually(
        lambda: "no registry answers" in http.get(f"/exporters/e-{subject}/status").json()["trace"], True
    )
    http.delete(f"/exporters/e-{subject}")


def test_patterns_mean_subjects_of_their_context() -> None:
    def wanted(pattern: str, subject: str) -> bool:
        return is_wanted(ExporterValue("e", subjects=(pattern,)), parse_subject(subject))

    assert wanted("*", "a")
    assert not wanted("*", ":.c:a")
    assert wanted(":*:", ":.c:a")
    assert wanted(":*:a*", ":.c:ab")
    assert wanted(":.c:*", ":.c:a")
    assert not wanted(":.c:b", ":.c:a")
    assert wanted("a", "a")


def test_a_context_of_the_source_comes_behind_that_of_the_exporter() -> None:
    custom = ExporterValue("e", "CUSTOM", "x")
    assert destination(custom, Subject(".", "s"), "me") == Subject(".x", "s")
    assert destination(custom, Subject(".c", "s"), "me") == Subject(".x.c", "s")
    assert destination(ExporterValue("e", "NONE"), Subject(".c", "s"), "me") == Subject(".c", "s")
    assert list(copies(State(), custom, "me")) == []


def test_one_process_owns_an_exporter_until_it_is_silent() -> None:
    state = State()
    request = ExporterRequest("e", config={"schema.registry.url": "http://x"})
    for record in decide_create(state, request, 0).records:
        state = state.replay(record)
    for record in decide_claim(state, "e", "one", 0).records:
        state = state.replay(record)
    assert decide_claim(state, "e", "one", 1).answer is True
    assert decide_claim(state, "e", "two", 14_999).answer is False
    assert decide_claim(state, "e", "two", 15_000).answer is True
    renewed = decide_claim(state, "e", "one", 6_000)
    assert (renewed.answer, len(renewed.records)) == (True, 1)
