"""A broker, its clients, its network, its disk and its clock in one thread, from one seed.

The broker is the real code (`server.node`, `server.connections.session` and everything below); only what
touches the machine is replaced.
"""
