"""Traces that people can read: what was done, and what happened. Tests compare them with what happens now."""
