"""Files that a Protobuf schema may import, references of other names, and custom options in descriptors."""

from __future__ import annotations

import base64

import pytest
from confluent_kafka.schema_registry.confluent import meta_pb2 as meta
from google.protobuf import descriptor_pb2

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.formats import parse
from penstock.schemas.protobuf.schema import ProtobufSchema

HEAD = 'syntax = "proto3"; package p; '


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("google/type/date.proto", "google.type.Date"),
        ("google/type/money.proto", "google.type.Money"),
        ("google/type/datetime.proto", "google.type.DateTime"),
        ("google/type/latlng.proto", "google.type.LatLng"),
        ("google/type/calendar_period.proto", "google.type.CalendarPeriod"),
        ("google/protobuf/struct.proto", "google.protobuf.Struct"),
        ("confluent/type/decimal.proto", "confluent.type.Decimal"),
    ],
)
def test_common_files_need_no_reference(file: str, kind: str) -> None:
    text = f'{HEAD} import "{file}"; message M {{ {kind} x = 1; }}'
    parsed = parse("PROTOBUF", text)
    assert isinstance(parsed, ProtobufSchema)
    assert parsed.file.message_type[0].field[0].type_name == f".{kind}"


def test_a_reference_of_another_name_is_found_by_the_end_of_its_path() -> None:
    other = f"{HEAD} message A {{ int32 x = 1; }}"
    text = f'{HEAD} import "a.proto"; message B {{ A a = 1; }}'
    parsed = parse("PROTOBUF", text, {"com/acme/a.proto": other})
    assert isinstance(parsed, ProtobufSchema)
    assert list(parsed.file.dependency) == ["a.proto"]
    assert 'import "a.proto";' in parsed.canonical
    both = {"x/a.proto": other, "y/a.proto": other.replace("package p", "package q")}
    with pytest.raises(InvalidSchema, match="is not found"):
        parse("PROTOBUF", text, both)


def test_one_file_that_is_imported_under_two_names_is_one_file() -> None:
    a = f"{HEAD} message A {{ int32 x = 1; }}"
    b = f'{HEAD} import "com/acme/a.proto"; message B {{ A a = 1; }}'
    text = f'{HEAD} import "a.proto"; import "b.proto"; message C {{ A a = 1; B b = 2; }}'
    parse("PROTOBUF", text, {"com/acme/a.proto": a, "b.proto": b})


def descriptor(text: str) -> descriptor_pb2.FileDescriptorProto:
    parsed = parse("PROTOBUF", text)
    assert isinstance(parsed, ProtobufSchema)
    return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(parsed.serialised))


def test_a_serialised_descriptor_has_its_custom_options_as_fields() -> None:
    text = f"""{HEAD} import "confluent/meta.proto";
        option (confluent.file_meta).doc = "of the file";
        message M {{
          option (confluent.message_meta) = {{ doc: "m", params: [{{key: "k", value: "v"}}] }};
          string x = 1 [(confluent.field_meta).tags = "PII", (confluent.field_meta).tags = "SECRET"];
        }}"""
    file = descriptor(text)
    assert file.options.Extensions[meta.file_meta].doc == "of the file"
    message = file.message_type[0]
    assert dict(message.options.Extensions[meta.message_meta].params) == {"k": "v"}
    assert list(message.field[0].options.Extensions[meta.field_meta].tags) == ["PII", "SECRET"]
    assert not message.field[0].options.uninterpreted_option


def test_an_option_that_the_file_defines_itself_is_interpreted_and_an_unknown_one_stays() -> None:
    text = f"""{HEAD} import "google/protobuf/descriptor.proto";
        extend google.protobuf.FieldOptions {{ int32 mine = 50001; }}
        message M {{ string x = 1 [(mine) = 7, (p.mine) = 8, (nobody.knows) = true]; }}"""
    options = descriptor(text).message_type[0].field[0].options
    assert [each.name[0].name_part for each in options.uninterpreted_option] == ["nobody.knows"]
    again = parse("PROTOBUF", text)
    assert "(mine) = 7" in again.canonical
