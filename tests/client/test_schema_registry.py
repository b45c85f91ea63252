"""The registry's client: what it keeps, what it follows, and what it says when something is missing."""

from __future__ import annotations

import pytest

from penstock.client.schema_registry import (
    NoRegistryAnswers,
    NotRegistered,
    Reference,
    RegistryError,
    Schema,
    SchemaRegistry,
    Version,
)
from tests.peers.registry_stub import registry_stub


def test_a_schema_is_asked_for_once_and_what_is_latest_each_time() -> None:
    with registry_stub() as stub:
        number = stub.register("t-value", '"string"')
        registry = SchemaRegistry(stub.url)
        assert registry.by_id(number) == registry.by_id(number) == Schema("AVRO", '"string"')
        assert registry.latest("t-value") == Version("t-value", 1, number, Schema("AVRO", '"string"'))
        newer = stub.register("t-value", '"long"')
        assert registry.latest("t-value").schema_id == newer
        assert registry.version("t-value", 1).schema.text == '"string"'
        assert len([path for path in stub.asked if path.startswith("/schemas/ids/")]) == 1


def test_references_are_followed_and_what_others_need_comes_first() -> None:
    with registry_stub() as stub:
        stub.register("a", "A", "PROTOBUF")
        stub.register("b", "B", "PROTOBUF", [{"name": "a.proto", "subject": "a", "version": 1}])
        refers = [
            {"name": "b.proto", "subject": "b", "version": 1},
            {"name": "a.proto", "subject": "a", "version": 1},
        ]
        number = stub.register("c", "C", "PROTOBUF", refers)
        found = SchemaRegistry(stub.url).by_id(number)
        assert found == Schema("PROTOBUF", "C", (("a.proto", "A"), ("b.proto", "B")))
        assert found.refers_to == (Reference("b.proto", "b", 1), Reference("a.proto", "a", 1))


def test_registering_gives_the_id_and_subjects_are_quoted() -> None:
    with registry_stub() as stub:
        registry = SchemaRegistry(f"http://127.0.0.1:1, {stub.url}")
        number = registry.register("a b/c-value", Schema("JSON", "{}"))
        assert registry.latest("a b/c-value") == Version("a b/c-value", 1, number, Schema("JSON", "{}"))


def test_what_is_missing_and_who_does_not_answer_is_said() -> None:
    with registry_stub() as stub:
        with pytest.raises(NotRegistered, match=r"subject 'gone' is not in the registry at http"):
            SchemaRegistry(stub.url).latest("gone")
        with pytest.raises(NotRegistered, match="schema 99 is not in the registry"):
            SchemaRegistry(stub.url).by_id(99)
    with pytest.raises(RegistryError, match=r"no registry answers .*is schema\.registry\.url right"):
        SchemaRegistry("http://127.0.0.1:1").by_id(1)
    with pytest.raises(ValueError, match="write http://host:port"):
        SchemaRegistry("localhost:8081")


def test_a_schema_with_references_is_looked_up_and_registered_with_them() -> None:
    with registry_stub() as stub:
        stub.register("a", "A", "PROTOBUF")
        refers = [{"name": "a.proto", "subject": "a", "version": 1}]
        number = stub.register("b", "B", "PROTOBUF", refers)
        registry = SchemaRegistry(stub.url)
        assert registry.register("c", registry.by_id(number)) == number
        with pytest.raises(RegistryError, match="subjects and versions of what it refers to"):
            registry.register("c", Schema("PROTOBUF", "B", (("a.proto", "A"),)))


def test_a_registry_that_is_broken_is_passed_over_for_the_next() -> None:
    with registry_stub(broken=True) as broken, registry_stub() as stub:
        number = stub.register("t", '"string"')
        assert SchemaRegistry(f"{broken.url},{stub.url}").by_id(number).text == '"string"'
        with pytest.raises(NoRegistryAnswers, match="500 It is broken"):
            SchemaRegistry(broken.url).by_id(1)
