"""The plan of a pipeline: frozen, validated, serialisable; what Streams, SQL and Connect build and a host
runs.

`Plan` holds nodes that wire the operators of `penstock.kernels` together, and the stores they need.
`rules.py` rewrites plans, `describe.py` and `picture.py` show them, `serial.py` writes them down, `task.py`
runs one.
"""
