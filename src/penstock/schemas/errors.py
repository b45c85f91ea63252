"""What parsing and serialising may raise.

SchemaError
├── InvalidSchema     the text is no schema of its format; the text of the error says where and why
├── InvalidValue      a value does not fit its schema
└── InvalidFrame      bytes are not of the wire format
"""

from __future__ import annotations


class SchemaError(ValueError):
    """Every error of `penstock.schemas`; its text is a sentence."""


class InvalidSchema(SchemaError):
    pass


class InvalidValue(SchemaError):
    pass


class InvalidFrame(SchemaError):
    pass
