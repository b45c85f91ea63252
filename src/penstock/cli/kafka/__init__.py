"""Kafka's own commands under their own names, with their own options, output and exit codes.

One file for each command; `pyproject.toml` gives each two entry points, with and without `.sh`. What they
share: `options` (joptsimple's way of reading a command line), `asking` (requests to a cluster), `starting`
(from a function to an exit code). `penstock …` is the command line for people; this one is for command lines
that exist already.
"""
