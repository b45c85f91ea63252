"""Expressions as data: SQL types, typed expressions, and what they mean.

An expression is a frozen tree (`tree.py`) whose nodes know their types (`types.py`). `evaluating.py` turns a
tree into a Python function and thereby defines its meaning, which is that of ksqlDB and so of Java: numbers
wrap around, null is equal to nothing, text of doubles is Java's. `json_form.py` writes trees down. Nothing
here reads a clock, draws a number or opens a file: an `Environment` is handed in.

Streams, SQL and Connect share this model. `spark/expression_columns.py` computes a part of it in the JVM.
"""
