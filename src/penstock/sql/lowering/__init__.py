"""Plans of queries: one module for each kind of step. `query.py` puts the steps of one query together.

The steps have ksqlDB's names, so that topics and stores do not change their names when a query is replaced.
All functions of a plan are data (`plan/row_*.py`), so it can be written and read without code, but for the
serdes of its topics, which are the caller's.
"""
