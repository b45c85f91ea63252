"""Our own client connection to any broker that speaks Kafka's protocol, Penstock's or Apache's.

It exists for what a general client library cannot do: hand over whole record batches without a Python
object for each record (`fetch`), and send batches that were encoded elsewhere (`produce`). Blocking
sockets, no threads of its own, every wait bounded by a `Deadline`. There are no consumer groups here;
people use `penstock.client`.
"""
