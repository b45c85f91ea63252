"""The host of Streams: runs a plan as one streaming query, with state, changelogs and exactly-once commits.

`penstock.streams.Application` calls `host.py:Host`. `plan` and `kernels` decide what a record does in a
topology. This package brings records, state and time to them, and takes results and state away.
"""
