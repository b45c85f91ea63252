"""The registry's own access control entries: what they allow, how they stand in their topic, and the words of
`sr-acl-cli`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.schema_acls import sr_acl_cli
from penstock.registry.settings import read_settings
from penstock.registry.subject_acls import Entries, EntryCodec, EntryRecord, SubjectEntry, entries_of
from penstock.settings.errors import SettingError
from penstock.testing import Broker

ACL_AUTHORIZER = (
    "io.confluent.kafka.schemaregistry.security.authorizer.schemaregistryacl.SchemaRegistryAclAuthorizer"
)


def entries(*words: tuple[str, str | None, str]) -> Entries:
    state = Entries()
    for user, subject, operation in words:
        for each in entries_of([user], subject, [operation]):
            state = state.replay(EntryRecord(each, True))
    return state


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (("alice", "SUBJECT_READ", "a-value"), True),
        (("alice", "SUBJECT_WRITE", "a-value"), False),
        (("alice", "SUBJECT_READ", "a-valu"), False),
        (("bob", "SUBJECT_READ", "a-value"), False),
        (("bob", "SUBJECT_DELETE", "b"), True),
        (("bob", "GLOBAL_READ", ""), False),
        (("carol", "SUBJECT_DELETE", "anything"), True),
        (("carol", "GLOBAL_COMPATIBILITY_WRITE", ""), True),
        (("alice", "GLOBAL_READ", ""), True),
        (("dave", "SUBJECT_READ", "open"), True),
        (("*", "SUBJECT_READ", "a-value"), False),
        (("alice", "SUBJECT_READ", "*"), False),
    ],
)
def test_entries_allow_what_they_name_and_nothing_else(asked: tuple[str, str, str], allowed: bool) -> None:
    known = entries(
        ("alice", "a-value", "SUBJECT_READ"),
        ("User:alice", None, "GLOBAL_SUBJECTS_READ"),
        ("bob", "b", "*"),
        ("carol", "*", "*"),
        ("*", "open", "SUBJECT_READ"),
    )
    assert known.allow(*asked) is allowed


def test_an_entry_stands_in_the_topic_and_is_taken_away() -> None:
    codec, entry = EntryCodec(), SubjectEntry("alice", "a", "SUBJECT_READ")
    for is_there in (True, False):
        record = EntryRecord(entry, is_there)
        key, value = codec.encode(record)
        assert codec.decode(key, value, None) == record
        assert Entries(frozenset([entry])).replay(record).known == (
            frozenset([entry]) if is_there else frozenset()
        )
    for wrong in (None, b"", b"[]", b"{", b'{"no": 1}'):
        assert codec.decode(wrong, b"{}", None) is None


def test_words_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="SUBJECT_REED is no operation"):
        entries_of(["a"], "s", ["SUBJECT_REED"])
    with pytest.raises(ValueError, match="needs a subject"):
        entries_of(["a"], None, ["SUBJECT_READ"])
    with pytest.raises(SettingError, match="no such authorizer"):
        read_settings("x", {"confluent.schema.registry.authorizer.class": "mine"})


def test_the_command_adds_lists_and_removes_entries(tmp_path: Path) -> None:
    with Broker() as broker:
        config = tmp_path / "registry.properties"
        config.write_text(
            f"kafkastore.bootstrap.servers={broker.bootstrap_servers}\n"
            f"confluent.schema.registry.authorizer.class={ACL_AUTHORIZER}\n"
        )

        def run(*words: str) -> str:
            done = CliRunner().invoke(sr_acl_cli, ["--config", str(config), *words])
            assert done.exit_code == 0, done.output
            return done.output

        run("--add", "-s", "a", "-p", "alice", "-o", "SUBJECT_READ:SUBJECT_WRITE")
        run("--remove", "-s", "a", "-p", "alice", "-o", "SUBJECT_WRITE")
        run("--add", "-p", "alice", "-o", "GLOBAL_READ")
        assert run("--list").splitlines() == [
            "principal=alice subject=- operation=GLOBAL_READ",
            "principal=alice subject=a operation=SUBJECT_READ",
        ]
