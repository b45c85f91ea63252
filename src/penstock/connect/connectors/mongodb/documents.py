"""Records as documents: values, ids, and what is written."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from penstock.clock import SystemClock
from penstock.connect.data.dates import from_millis
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Float32, Struct
from penstock.connect.errors import DataError

PACKAGE: Final = "com.mongodb.kafka.connect.sink."
IDS: Final = (
    "BsonOidStrategy", "KafkaMetaDataStrategy", "FullKeyStrategy", "ProvidedInKeyStrategy",
    "ProvidedInValueStrategy", "UuidStrategy",
)  # fmt: skip
WRITES: Final = (
    "DefaultWriteModelStrategy", "ReplaceOneDefaultStrategy", "InsertOneDefaultStrategy",
    "UpdateOneDefaultStrategy", "UpdateOneTimestampsStrategy", "DeleteOneDefaultStrategy",
)  # fmt: skip
SAFE_IDS: Final = (
    "KafkaMetaDataStrategy",
    "FullKeyStrategy",
    "ProvidedInKeyStrategy",
    "ProvidedInValueStrategy",
)
"""Ids that follow from the record."""


def plain(value: Any) -> Any:
    """What BSON takes. DataError for what it has no form for."""
    match value:
        case Struct() | dict():
            return {str(name): plain(part) for name, part in value.items()}
        case list():
            return [plain(each) for each in value]
        case Float32():
            return float(value)
        case Decimal():
            from bson.decimal128 import Decimal128

            try:
                return Decimal128(value)
            except ArithmeticError as error:
                raise DataError(f"{value} does not fit into a decimal of 128 bits") from error
        case bool():
            return value
        case int() if not -(1 << 63) <= value < 1 << 63:
            raise DataError(f"{value} does not fit into 64 bits")
    return value


def _id(strategy: str, record: ConnectRecord) -> Any:
    match strategy:
        case "BsonOidStrategy":
            from bson import ObjectId

            return ObjectId()
        case "UuidStrategy":
            return str(uuid.uuid4())
        case "KafkaMetaDataStrategy":
            return f"{record.topic}#{record.partition or 0}#{record.offset or 0}"
        case "FullKeyStrategy":
            if record.key is None:
                raise DataError("the record has no key, which is the id")
            return plain(record.key)
    side = record.key if strategy == "ProvidedInKeyStrategy" else record.value
    found = plain(side) if isinstance(side, (Struct, dict)) else {}
    if found.get("_id") is None:
        raise DataError(f"there is no field _id ({strategy})")
    return found["_id"]


def operation(settings: Mapping[str, Any], record: ConnectRecord) -> Any:
    """The operation of a record; None for one that is left out. DataError for one that has none."""
    from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne

    ids, writes = (
        settings[name].rpartition(".")[2] for name in ("document.id.strategy", "writemodel.strategy")
    )
    if record.value is None:
        if not settings["delete.on.null.values"]:
            return None
        return DeleteOne({"_id": _id(ids, record)})
    if not isinstance(record.value, (Struct, dict)):
        raise DataError("the value has no fields, which a document needs")
    found = _id(ids, record)
    document = {**plain(record.value), "_id": found}
    fields = {name: value for name, value in document.items() if name != "_id"}
    match writes:
        case "InsertOneDefaultStrategy":
            return InsertOne(document)
        case "DeleteOneDefaultStrategy":
            return DeleteOne({"_id": found})
        case "UpdateOneDefaultStrategy":
            return UpdateOne(
                {"_id": found}, {"$set": fields} if fields else {"$setOnInsert": {"_id": found}}, upsert=True
            )
        case "UpdateOneTimestampsStrategy":
            now = from_millis(SystemClock().now_ms())
            change = {"$set": {**fields, "_modifiedTS": now}, "$setOnInsert": {"_insertedTS": now}}
            return UpdateOne({"_id": found}, change, upsert=True)
    return ReplaceOne({"_id": found}, document, upsert=True)
