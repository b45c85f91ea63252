"""The broker's shells: the node put together, the sockets, a thread per connection. Here, and only here,
somebody waits."""
