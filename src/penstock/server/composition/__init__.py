"""The parts of a node, each built by one function: storage, metadata, coordinators, replication.
`server.node:Node` calls them in this order."""
