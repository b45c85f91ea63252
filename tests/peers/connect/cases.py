"""Questions for transforms: configurations, and records of every type, with schemas and without."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.peers.connect.judge import Case, case

_TIMESTAMP = {"name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
_DATE = {"name": "org.apache.kafka.connect.data.Date", "version": 1}
_TIME = {"name": "org.apache.kafka.connect.data.Time", "version": 1}
_DECIMAL = {"name": "org.apache.kafka.connect.data.Decimal", "version": 1, "parameters": {"scale": "2"}}


def field(named: str, kind: str, /, *, optional: bool = False, **more: Any) -> dict[str, Any]:
    return {"type": kind, "optional": optional, "field": named, **more}


def envelope(schema: dict[str, Any], payload: Any) -> str:
    return json.dumps({"schema": schema, "payload": payload})


def struct(fields: list[dict[str, Any]], payload: dict[str, Any], **more: Any) -> str:
    return envelope({"type": "struct", "fields": fields, "optional": False, **more}, payload)


def plain(kind: str, payload: Any, /, **more: Any) -> str:
    return envelope({"type": kind, "optional": False, **more}, payload)


_INT32 = {"type": "int32", "optional": False}
_STRING = {"type": "string", "optional": False}
_INT64 = {"type": "int64", "optional": False}

EVERYTHING = struct(
    [
        field("i8", "int8"),
        field("i32", "int32", optional=True, default=5),
        field("l", "int64"),
        field("f", "float"),
        field("d", "double"),
        field("b", "boolean"),
        field("s", "string"),
        field("o", "string", optional=True),
        field("y", "bytes"),
        field("ts", "int64", **_TIMESTAMP),
        field("dt", "int32", **_DATE),
        field("tm", "int32", **_TIME),
        field("dec", "bytes", **_DECIMAL),
        field("arr", "array", items=_INT32),
        field("m", "map", keys=_STRING, values=_INT64),
        field(
            "in",
            "struct",
            optional=True,
            fields=[
                field("x", "int32"),
                field("z", "string", optional=True),
                field("deep", "struct", fields=[field("q", "double")]),
            ],
        ),
    ],
    {
        "i8": 7,
        "i32": None,
        "l": 1234567890123,
        "f": 0.1,
        "d": 1.5e10,
        "b": True,
        "s": "text ü",
        "o": None,
        "y": "AQID",
        "ts": 1700000000123,
        "dt": 19000,
        "tm": 3600000,
        "dec": "AN4=",
        "arr": [1, 2],
        "m": {"k": 9},
        "in": {"x": 1, "z": None, "deep": {"q": 2.5}},
    },
    name="rec",
    version=3,
    doc="d",
)
NESTED = struct(
    [
        field("a", "string"),
        field("in", "struct", fields=[field("x", "int32"), field("y", "string", optional=True)]),
    ],
    {"a": "A", "in": {"x": 1, "y": None}},
)
NULLS = struct(
    [field("a", "string", optional=True), field("in", "struct", optional=True, fields=[field("x", "int32")])],
    {"a": None, "in": None},
    optional=True,
)
WITHOUT_SCHEMA = json.dumps(
    {
        "a": 1,
        "b": 2.5,
        "s": "x",
        "n": None,
        "t": True,
        "l": [1, "z"],
        "m": {"x": {"y": 2}, "e": {}},
        "ts": 1700000000123,
        "when": "2024-02-29 12:00:00",
    }
)

VALUES: list[tuple[str | None, bool]] = [
    (EVERYTHING, True),
    (NESTED, True),
    (NULLS, True),
    (WITHOUT_SCHEMA, False),
    (None, True),
    (None, False),
    (plain("string", "17"), True),
    ("5", False),
    (plain("int64", 1700000000123, optional=True, default=3), True),
    (plain("int64", 1700000000123, **_TIMESTAMP), True),
]

CONFIGURATIONS: list[tuple[str, dict[str, str]]] = [
    ("ReplaceField$Value", {"exclude": "s,m"}),
    ("ReplaceField$Value", {"include": "s,a,l"}),
    ("ReplaceField$Value", {"renames": "s:S,a:A"}),
    ("ReplaceField$Value", {"include": "s", "renames": "s:t"}),
    ("ReplaceField$Value", {"exclude": "i32", "replace.null.with.default": "false"}),
    ("ReplaceField$Value", {"renames": "x"}),
    ("ReplaceField$Value", {}),
    ("MaskField$Value", {"fields": "i8,i32,l,f,d,b,s,o,ts,arr,m,a,t,n"}),
    ("MaskField$Value", {"fields": "s", "replacement": "***"}),
    ("MaskField$Value", {"fields": "i8,l,d,f", "replacement": "42"}),
    ("MaskField$Value", {"fields": "i8", "replacement": "999"}),
    ("MaskField$Value", {"fields": "b,t", "replacement": "1"}),
    ("MaskField$Value", {"fields": "in"}),
    ("MaskField$Value", {"fields": "y"}),
    ("MaskField$Value", {"fields": "a,b", "replacement": "12"}),
    ("MaskField$Value", {"fields": ""}),
    ("ValueToKey", {"fields": "s"}),
    ("ValueToKey", {"fields": "s,i32"}),
    ("ValueToKey", {"fields": "nope"}),
    ("ValueToKey", {"fields": "a,in"}),
    ("ExtractField$Value", {"field": "s"}),
    ("ExtractField$Value", {"field": "i32"}),
    ("ExtractField$Value", {"field": "i32", "replace.null.with.default": "false"}),
    ("ExtractField$Value", {"field": "nope"}),
    ("ExtractField$Value", {"field": "in.deep.q", "field.syntax.version": "V2"}),
    ("ExtractField$Value", {"field": "m.x.y", "field.syntax.version": "V2"}),
    ("ExtractField$Value", {"field": "in"}),
    ("HoistField$Value", {"field": "w"}),
    ("HoistField$Key", {"field": "w"}),
    (
        "InsertField$Value",
        {
            "topic.field": "T",
            "partition.field": "P!",
            "offset.field": "O?",
            "timestamp.field": "TS",
            "static.field": "S",
            "static.value": "v",
        },
    ),
    ("InsertField$Value", {"topic.field": "T!"}),
    ("InsertField$Value", {"static.field": "S!", "static.value": "x"}),
    ("InsertField$Value", {}),
    ("InsertField$Value", {"static.field": "S"}),
    *(
        ("Cast$Value", {"spec": spec})
        for spec in (
            *(
                "int8",
                "string",
                "boolean",
                "int64",
                "float64",
                "arr:string",
                "s:int32",
                "nope:int32",
                "a:bytes",
            ),
            "l:int8,d:int32,f:string,b:int64,i8:boolean,s:string",
            "ts:string,dt:string,tm:string,dec:string,y:string",
            "ts:int64,dt:int32,tm:float64,dec:int32,i32:string,o:int32",
            "d:string,f:float64,i8:float32",
            "a:string,b:int32,t:string,s:boolean",
            "in:int32",
        )
    ),
    ("Flatten$Value", {}),
    ("Flatten$Value", {"delimiter": "_"}),
    ("RegexRouter", {"regex": "(.*)", "replacement": "pre-$1"}),
    ("RegexRouter", {"regex": "ev(en)ts", "replacement": "$1x$1"}),
    ("RegexRouter", {"regex": "nope", "replacement": "z"}),
    ("RegexRouter", {"regex": "ev", "replacement": "z"}),
    ("TimestampRouter", {}),
    (
        "TimestampRouter",
        {"topic.format": "${timestamp}/${topic}", "timestamp.format": "yyyy-MM-dd'T'HH:mm:ss.SSSZ"},
    ),
    ("TimestampRouter", {"timestamp.format": "EEE, d MMM yy h:mm a z"}),
    ("HeaderFrom$Value", {"fields": "s,i32", "headers": "h1,h2", "operation": "move"}),
    ("HeaderFrom$Value", {"fields": "s,a", "headers": "h1,h2", "operation": "copy"}),
    ("HeaderFrom$Value", {"fields": "s", "headers": "h1,h2", "operation": "copy"}),
    ("HeaderFrom$Value", {"fields": "s", "headers": "h", "operation": "x"}),
    ("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "move"}),
    *(
        ("InsertHeader", {"header": "h", "value.literal": literal})
        for literal in (
            *("text", "1", "300", "70000", "5000000000", "1.5", "true", "null", "0.1", "1e400", "[1,2]"),
            *("2024-01-01", "x y", " 7 ", "3.14159265358979", "True"),
        )
    ),
    ("DropHeaders", {"headers": "a,b"}),
    ("Filter", {}),
    ("TimestampConverter$Value", {"target.type": "string", "format": "yyyy-MM-dd HH:mm:ss.SSS"}),
    *(("TimestampConverter$Value", {"target.type": kind}) for kind in ("unix", "Date", "Time", "Timestamp")),
    ("TimestampConverter$Value", {"field": "ts", "target.type": "string", "format": "yyyy/MM/dd"}),
    ("TimestampConverter$Value", {"field": "ts", "target.type": "unix", "unix.precision": "seconds"}),
    ("TimestampConverter$Value", {"field": "ts", "target.type": "unix", "unix.precision": "nanoseconds"}),
    ("TimestampConverter$Value", {"field": "ts", "target.type": "Date"}),
    ("TimestampConverter$Value", {"field": "ts", "target.type": "Time"}),
    ("TimestampConverter$Value", {"field": "when", "target.type": "unix", "format": "yyyy-MM-dd HH:mm:ss"}),
    ("TimestampConverter$Value", {"field": "when", "target.type": "Timestamp", "format": "yyyyMMdd"}),
    ("TimestampConverter$Value", {"target.type": "string"}),
    ("TimestampConverter$Value", {"target.type": "nope"}),
    ("TimestampConverter$Value", {"field": "dt", "target.type": "Timestamp"}),
    ("TimestampConverter$Value", {"field": "tm", "target.type": "unix"}),
    ("TimestampConverter$Value", {"field": "l", "target.type": "Timestamp"}),
    (
        "TimestampConverter$Value",
        {"field": "l", "target.type": "Timestamp", "unix.precision": "microseconds"},
    ),
    ("TimestampConverter$Value", {"field": "s", "target.type": "unix", "format": "yyyy"}),
    ("TimestampConverter$Value", {"field": "d", "target.type": "unix"}),
]


def all_cases() -> Iterator[Case]:
    """Every configuration with every value."""
    headers = [["a", plain("string", "1")], ["c", None]]
    for (kind, config), (value, schemas) in itertools.product(CONFIGURATIONS, VALUES):
        key = plain("int32", 4) if schemas else "4"
        yield case(kind, config, value, schemas=schemas, key=key, headers=headers if schemas else [])
    for schemas, value in ((True, EVERYTHING), (True, NESTED)):
        for config in (
            {"schema.name": "n"},
            {"schema.version": "9"},
            {"schema.name": "n", "schema.version": "1"},
        ):
            yield case("SetSchemaMetadata$Value", config, value, schemas=schemas)
