"""SQL: ksqlDB's language. Pure: text becomes a syntax tree with positions, and a tree becomes text again.

`parsing.py` is the way in. `lexer.py` makes tokens, `grammar.lark` says what may follow what, `building.py`
makes the nodes of `syntax.py` and `statements.py`, `printing.py` writes them, `variables.py` puts `${x}` in.
"""
