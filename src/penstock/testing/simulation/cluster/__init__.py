"""A whole cluster in one thread from one seed: the real nodes on simulated networks, disks and clocks,
clients that follow leaders, faults, and rules that are looked at after every step. `run.py:ClusterRun` is the
door."""
