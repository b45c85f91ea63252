"""Messages of a schema: what their descriptors write and read is what generated code would."""

from __future__ import annotations

import pytest
from google.protobuf.message_factory import GetMessageClass

from penstock.schemas.errors import InvalidSchema
from penstock.schemas.protobuf.messages import describe, message_at, message_named, path_of

TEXT = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "money.proto";
message Customer { string name = 1; }
message Order {
  message Line { string item = 1; Money price = 2; }
  enum State { OPEN = 0; SHIPPED = 1; }
  int64 id = 1;
  repeated Line lines = 2;
  State state = 3;
  map<string, Line> extras = 4;
  optional string note = 5;
  oneof payer { Customer customer = 6; string account = 7; }
  google.protobuf.Timestamp at = 8;
}
"""
MONEY = 'syntax = "proto3"; package shop; message Money { sint64 cents = 1; }'


def test_a_message_is_written_and_read_with_everything_in_it() -> None:
    order = message_at(describe(TEXT, {"money.proto": MONEY}), (1,))
    assert order.full_name == "shop.Order"
    make = GetMessageClass(order)
    written = make(id=7, lines=[{"item": "tea", "price": {"cents": -5}}], state=1, note="", account="a")
    written.extras["x"].item = "cup"
    read = make.FromString(written.SerializeToString())
    assert read == written
    assert read.HasField("note")
    assert not make().HasField("note")
    assert read.WhichOneof("payer") == "account"


def test_a_message_is_found_at_its_path_and_knows_it() -> None:
    file = describe(TEXT, {"money.proto": MONEY})
    line = message_at(file, (1, 0))
    assert line.full_name == "shop.Order.Line"
    assert path_of(line) == (1, 0)
    with pytest.raises(InvalidSchema, match="no message 5"):
        message_at(file, (5,))


def test_a_message_is_found_by_its_name_with_and_without_its_package() -> None:
    file = describe(TEXT, {"money.proto": MONEY})
    assert message_named(file, "Order.Line") is message_named(file, "shop.Order.Line")
    with pytest.raises(InvalidSchema, match="no message 'Gone': there are Customer, Order"):
        message_named(file, "Gone")
