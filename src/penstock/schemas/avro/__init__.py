"""Avro: types as values (`model`), from JSON (`parsing`), and back (`writing`), and `compatibility`."""
