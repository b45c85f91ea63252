"""The console behind HTTPS and a login at the broker: its API shows what the broker shows the caller."""

from __future__ import annotations

from urllib.parse import quote

from tests.security.guarded_services import (
    OTHER,
    PASSWORDS,
    TOPIC,
    GuardedBroker,
    ServiceProcess,
    curl,
)


def test_the_api_acts_as_its_caller(guarded: GuardedBroker, console: ServiceProcess) -> None:
    def names(user: str) -> set[str]:
        answer = curl(guarded.authority.path, f"{console.url}/api/topics", user=user)
        return {topic["name"] for topic in answer.json["topics"]}

    assert curl(guarded.authority.path, f"{console.url}/api/topics").status == 401
    assert curl(guarded.authority.path, f"{console.url}/").status == 303
    assert names("alice") == {TOPIC}
    assert {TOPIC, OTHER} <= names("admin")
    refused = curl(guarded.authority.path, f"{console.url}/api/topics/{OTHER}/messages", user="alice")
    assert refused.status >= 400
    roles = {
        user: curl(guarded.authority.path, f"{console.url}/api/me", user=user).json["role"]
        for user in ("admin", "alice", "bob")
    }
    assert roles == {"admin": "admin", "alice": "editor", "bob": "viewer"}


def test_a_person_logs_in(guarded: GuardedBroker, console: ServiceProcess) -> None:
    jar = str(guarded.folder / "cookies")
    form = f"name=alice&password={quote(PASSWORDS['alice'])}&next=/"
    own = ("-H", f"Origin: {console.url}")
    entered = curl(guarded.authority.path, f"{console.url}/login", "-c", jar, *own, "--data-raw", form)
    assert entered.status == 303, entered
    assert "__host-penstock=" in entered.headers.lower()
    assert "secure" in entered.headers.lower()
    page = curl(guarded.authority.path, f"{console.url}/", "-b", jar)
    assert page.status == 200
    assert "frame-ancestors 'none'" in page.headers
    assert curl(guarded.authority.path, f"{console.url}/api/me", "-b", jar).json["role"] == "editor"
    foreign = ("-H", "Origin: https://evil.test", "-X", "DELETE")
    stolen = curl(guarded.authority.path, f"{console.url}/api/topics/{TOPIC}", "-b", jar, *foreign)
    assert stolen.status == 403
    assert curl(guarded.authority.path, f"{console.url}/logout", "-b", jar, *own, "-X", "POST").status == 303
    assert curl(guarded.authority.path, f"{console.url}/api/me", "-b", jar).status == 401
