"""The same load against Penstock and Apache Kafka, in turns, on one machine: `make bench`.

`sections/` holds one module for each part of the report; `load.c` is the load generator. Nothing here belongs
to the package that is installed, and no figure stands in the source: each is measured when it is printed.
"""
