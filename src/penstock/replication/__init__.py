"""Partitions as a broker serves them: the log under its lock, what is committed, and who waits for more."""
