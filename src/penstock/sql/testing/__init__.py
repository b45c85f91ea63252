"""Tests of statements, in process: cases as data, run without broker and Spark, compared record by record.

`cases.py` reads files, `running.py` runs one case, `comparing.py` says what differs. `run_file` is the call
for Python.
"""

from penstock.sql.testing.cases import BadCase, Case, read_cases
from penstock.sql.testing.running import Result, run_case, run_file

__all__ = ["BadCase", "Case", "Result", "read_cases", "run_case", "run_file"]
