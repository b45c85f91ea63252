"""Every transform beside Kafka's own Java class: the same configurations and records give the same."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.peers.connect.cases import all_cases, envelope, field
from tests.peers.connect.judge import Case, Judge, case, judge, ours

__all__ = ["judge"]


def test_every_configuration_gives_what_kafkas_class_gives(judge: Judge) -> None:
    differences = [
        asked for asked in all_cases() if compared(judge.ask(asked), asked) != compared(ours(asked), asked)
    ]
    assert not differences, shown(judge, differences)


_KINDS = {
    "int8": st.integers(-128, 127),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "double": st.integers(-(10**7), 10**7).map(
        lambda eighths: eighths / 8
    ),  # Java 17 and 19 differ in others
    "boolean": st.booleans(),
    "string": st.text("ab1.-é ", max_size=6) | st.integers(-300, 300).map(str),
}
_NAMES = st.sampled_from(["a", "b", "c", "d"])


@st.composite
def structs(draw: st.DrawFn, depth: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema of a struct, and a value of it."""
    fields, payload = [], {}
    for name in draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True)):
        kind = draw(st.sampled_from([*_KINDS, *(["struct"] if depth else [])]))
        optional = draw(st.booleans())
        if kind == "struct":
            inner, value = draw(structs(depth - 1))
            fields.append({**inner, "optional": optional, "field": name})
        else:
            value = draw(_KINDS[kind])
            more = {"default": draw(_KINDS[kind])} if draw(st.booleans()) else {}
            fields.append(field(name, kind, optional=optional, **more))
        payload[name] = None if optional and draw(st.booleans()) else value
    return {"type": "struct", "fields": fields, "optional": False}, payload


def _lists(names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(names, min_size=1, max_size=3, unique=True).map(",".join)


_TARGETS = st.sampled_from(["int8", "int16", "int32", "int64", "float64", "boolean", "string"])
_FLAG = st.sampled_from(["true", "false"])
_CONFIGURATIONS = st.one_of(
    st.tuples(
        st.just("ReplaceField$Value"),
        st.fixed_dictionaries(
            {},
            optional={
                "include": _lists(_NAMES),
                "exclude": _lists(_NAMES),
                "renames": st.tuples(_NAMES, st.sampled_from(["x", "y"])).map(":".join),
                "replace.null.with.default": _FLAG,
            },
        ),
    ),
    st.tuples(
        st.just("MaskField$Value"),
        st.fixed_dictionaries(
            {"fields": _lists(_NAMES)}, optional={"replacement": st.sampled_from(["7", "x", "-1"])}
        ),
    ),
    st.tuples(st.just("ValueToKey"), st.fixed_dictionaries({"fields": _lists(_NAMES)})),
    st.tuples(
        st.just("ExtractField$Value"),
        st.fixed_dictionaries({"field": _NAMES}, optional={"replace.null.with.default": _FLAG}),
    ),
    st.tuples(
        st.just("Cast$Value"),
        st.fixed_dictionaries(
            {
                "spec": st.dictionaries(_NAMES, _TARGETS, min_size=1, max_size=3).map(
                    lambda casts: ",".join(f"{name}:{kind}" for name, kind in casts.items())
                )
            },
            optional={"replace.null.with.default": _FLAG},
        ),
    ),
    st.tuples(
        st.just("Flatten$Value"),
        st.fixed_dictionaries({}, optional={"delimiter": st.sampled_from(["_", "."])}),
    ),
    st.tuples(
        st.just("HeaderFrom$Value"),
        st.fixed_dictionaries(
            {"fields": _NAMES, "headers": st.just("h"), "operation": st.sampled_from(["move", "copy"])}
        ),
    ),
    st.tuples(
        st.just("InsertField$Value"),
        st.fixed_dictionaries(
            {"topic.field": st.sampled_from(["a", "t!", "t?"]), "timestamp.field": st.just("ts")}
        ),
    ),
)


@given(structs(), _CONFIGURATIONS, st.booleans())
def test_random_records_give_what_kafkas_class_gives(
    judge: Judge,
    made: tuple[dict[str, Any], dict[str, Any]],
    configuration: tuple[str, dict[str, str]],
    schemas: bool,
) -> None:
    schema, payload = made
    asked = case(
        *configuration, envelope(schema, payload) if schemas else json.dumps(payload), schemas=schemas
    )
    assert compared(judge.ask(asked), asked) == compared(ours(asked), asked), shown(judge, [asked])


def compared(answer: Case, asked: Case) -> Case:
    """Errors count as equal whatever they say, and so do maps without a schema in another order."""
    if "error" in answer:
        return {"error": True}
    if asked["schemas"]:
        return answer
    parsed = {name: _parsed(answer.get(name)) for name in ("key", "value")}
    return {
        **answer,
        **parsed,
        "headers": [[name, _parsed(text)] for name, text in answer.get("headers", [])],
    }


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def shown(judge: Judge, cases: list[Case]) -> str:
    return "\n".join(f"{asked}\n  Kafka {judge.ask(asked)}\n  ours  {ours(asked)}" for asked in cases[:5])
