"""The host of Streams: runs a plan as one streaming query, with state, changelogs and exactly-once commits.

`host.py:Host` is the door, called by `penstock.streams.Application`. What a record does in a topology is
decided in `plan` and `kernels`; here is where its records, its state and its time come from, and go to.
"""
