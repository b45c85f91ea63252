"""The Schema Registry: Confluent's REST API over the compacted topic `_schemas`.

    records     keys and values as Confluent writes them
    state       what replaying the records gives; nothing else changes it
    decisions   requests to change something → records, or a refusal
    store       the topic: append with fencing, read back
    service     one request: decide, append, wait until it was replayed, answer
    routes      the REST API

Formats and compatibility are `schemas`' business. Called by `penstock registry`.
"""
