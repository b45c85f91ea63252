"""Partitions as a broker serves them: the log under its lock, what is committed, and requests
that wait for more."""
