"""Transactions: which producer has which one open, how each ends, and which producers are fenced.
Decisions and state only: `server` writes the markers, and `handlers` read the requests."""
