"""Raft as KRaft has it (KIP-595, KIP-630, KIP-835, KIP-996): followers pull, the leader counts what they
have.

Messages, time and chance go in, messages and what must be durable come out: no socket, no thread and no file
is touched here. `penstock.raft.raft:Raft` is the door; sockets and the simulator drive it.
"""
