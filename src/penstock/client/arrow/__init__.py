"""Records as columns: Arrow batches from stored batches and back, with no Python object for a record.

The Spark source and sink and the Python client share it. pyarrow is imported here, so nothing imports this
package before it is needed.
"""
