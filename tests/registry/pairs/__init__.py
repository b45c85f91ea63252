"""Random pairs of schemas, a schema and what became of it, with values of the first: one module a format."""
