"""Connections: sockets, frames, one thread each, turns between them, and limits on all of them."""
