"""`penstock doctor`: what is wrong with this machine, its data and the way to its cluster, and what to do.

`machine` looks at the machine, `data` at a data folder, `cluster` at brokers and services from a client's
side. Each check is a function that returns `Finding`s; the command line prints them.
"""
