"""Version 3 of the API: the cluster and everything in it as resources, and producing. `routes` is the
table.
"""
