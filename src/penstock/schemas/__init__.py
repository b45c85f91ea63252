"""Schemas as values: Avro, JSON Schema and Protobuf. Parsing, canonical forms, compatibility, serialisation.

Everything here is pure. What a subject is, and where schemas are kept, is `registry`'s business.
"""
