"""Requests of the metadata quorum, and their messages."""
