"""Penstock's own connectors, a folder each, behind the API. `connectors.table` lists them."""
