"""A broker among others: its life, its peers, the replicas that it follows, markers and channels to the
controller."""
