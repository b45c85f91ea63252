"""What a query means: names, types, keys, joins, groups and windows, each found by a module of its own.

`query.py` puts them together. Nothing here knows how a query is run.
"""
