"""Transactions: which producer has which one open, how each ends, and who is fenced. Decisions and state
only; markers are written by `server`, requests are read by `handlers`."""
