"""The REST Proxy: Kafka over HTTP with the paths, bodies and codes of Confluent's, versions 2 and 3.

It is a client of the broker and nothing more: `producing` writes, `consumer` and `instances` read,
`penstock.client` asks and administers. `v2` and `v3` turn requests into calls of those and answers into
their JSON; `app` is the table of routes. Started by `penstock rest`, from `main`.
"""
