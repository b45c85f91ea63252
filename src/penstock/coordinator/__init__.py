"""The runtime of coordinators: shards of an internal topic that decide records, write them, and replay them.

What is decided stands above (`groups`, `transactions`); threads, sockets and loading are driven from
`server`.
"""
