"""The log of one replica on one disk: segments, indexes, recovery, producer state. No sockets, no threads."""
