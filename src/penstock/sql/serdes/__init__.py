"""Formats: rows to bytes and back, as ksqlDB writes and reads them. `table.py:codec_of` is the one way in.

Pure: schemas of a registry come through the `Schemas` protocol of `schemas.py`, which the caller provides.
"""
