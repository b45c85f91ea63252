"""The REST API as tables of routes, one file for each part; `table.routes` is all of them."""
