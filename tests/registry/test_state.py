"""The state is what the records say: the same however often they are read, and after any compaction."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.registry import configuring, deleting
from penstock.registry.associations import decide_associate, decide_dissociate
from penstock.registry.content import content_of
from penstock.registry.decisions import Decision
from penstock.registry.lookups import list_subjects, users_of
from penstock.registry.records import Key, Record, decode, encode
from penstock.registry.registering import decide_register
from penstock.registry.requests import AssociationNew, AssociationRequest, ConfigRequest, SchemaRequest
from penstock.registry.state import State
from penstock.registry.subjects import WILDCARD, parse_subject
from penstock.web import HttpError

SUBJECTS = st.sampled_from(["a", "b", ":.c:a"])
SCHEMAS = st.sampled_from(['"int"', '"long"', '"string"', '{"type":"fixed","name":"F","size":2}'])
CHANGES = st.one_of(
    st.tuples(st.just("register"), SUBJECTS, SCHEMAS),
    st.tuples(st.just("register"), SUBJECTS, SCHEMAS),
    st.tuples(st.just("delete version"), SUBJECTS, st.sampled_from(["1", "2", "latest"]), st.booleans()),
    st.tuples(st.just("delete subject"), SUBJECTS, st.booleans()),
    st.tuples(st.just("config"), SUBJECTS, st.sampled_from(["NONE", "FULL"])),
    st.tuples(st.just("mode"), SUBJECTS, st.sampled_from(["READONLY", "READWRITE"])),
    st.tuples(st.just("delete context"), SUBJECTS),
    st.tuples(st.just("associate"), SUBJECTS, SCHEMAS, st.sampled_from(["STRONG", "WEAK"])),
    st.tuples(st.just("dissociate"), SUBJECTS, st.booleans()),
)


def decide(state: State, change: tuple[Any, ...]) -> Decision:
    what, name, *rest = change
    subject = parse_subject(name)
    match what:
        case "register":
            return decide_register(state, subject, SchemaRequest(schema=rest[0]), normalise=False)
        case "delete version":
            return deleting.decide_delete_version(state, subject, rest[0], permanent=rest[1])
        case "delete subject":
            return deleting.decide_delete_subject(state, subject, permanent=rest[0])
        case "delete context":
            return deleting.decide_delete_context(state, subject.context)
        case "associate":
            new = AssociationNew(name, None, rest[1], schema=SchemaRequest(schema=rest[0]))
            return decide_associate(state, AssociationRequest("t", "c", name[-1], None, [new]), update=True)
        case "dissociate":
            return decide_dissociate(state, name[-1], (), cascade=rest[0])
        case "config":
            return configuring.decide_config(state, name, ConfigRequest(compatibility=rest[0]))
    return configuring.decide_mode(state, name, subject, rest[0], force=True)


def run(changes: list[tuple[Any, ...]]) -> tuple[State, list[Record]]:
    state, log = State(), []
    for change in changes:
        try:
            decision = decide(state, change)
        except HttpError:
            continue  # a refusal changes nothing
        for record in decision.records:
            read = decode(*encode(record))
            assert read == record
            state = state.replay(record)
            log.append(record)
    return state, log


def told(state: State) -> Any:
    """Everything that a client could see."""
    return (
        {name: context.subjects for name, context in state.contexts.items() if context.subjects},
        {name: context.max_id for name, context in state.contexts.items() if context.max_id},
        {name: sorted(context.ids) for name, context in state.contexts.items() if context.ids},
        state.configs,
        state.modes,
        state.associations,
        list_subjects(state, WILDCARD, deleted=True, deleted_only=False),
    )


def replayed(log: list[Record]) -> State:
    state = State()
    for record in log:
        state = state.replay(record)
    return state


@given(st.lists(CHANGES, max_size=25))
def test_reading_the_log_again_gives_the_same_registry(changes: list[tuple[Any, ...]]) -> None:
    state, log = run(changes)
    assert told(replayed(log)) == told(state)
    assert told(replayed(log + log)) == told(state)


@given(st.lists(CHANGES, max_size=25), st.booleans())
def test_compaction_changes_nothing_that_a_client_sees(changes: list[tuple[Any, ...]], late: bool) -> None:
    state, log = run(changes)
    last: dict[Key, int] = {record.key: at for at, record in enumerate(log)}
    kept = [record for at, record in enumerate(log) if last[record.key] == at]
    if late:  # after delete.retention.ms the tombstones go as well
        kept = [record for record in kept if record.value is not None]
    assert told(replayed(kept)) == told(state)


@given(st.lists(CHANGES, max_size=25))
def test_one_content_has_one_id_and_one_id_one_content(changes: list[tuple[Any, ...]]) -> None:
    state, log = run(changes)
    given: dict[tuple[str, int], bytes] = {}
    for record in log:
        value: Any = record.value
        if record.key.keytype == "SCHEMA" and value is not None:
            context = parse_subject(value.subject).context
            digest = content_of(value).digest
            assert given.setdefault((context, value.id), digest) == digest
    for context in state.contexts.values():
        for schema_id, value in context.ids.items():
            assert users_of(state, value, deleted=True)
            assert context.digests[content_of(value).digest] == schema_id


@given(st.lists(CHANGES, max_size=25))
def test_any_key_can_be_restored_from_the_state(changes: list[tuple[Any, ...]]) -> None:
    state, log = run(changes)
    restored = [state.record_of(record) for record in {record.key: record for record in log}.values()]
    assert told(replayed(log + restored)) == told(state)
