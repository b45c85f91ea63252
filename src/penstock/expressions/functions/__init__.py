"""Functions of expressions: their signatures, how a call finds its own, and what they compute.

`signatures.py` matches types, `registry.py` holds functions, `resolving.py` makes calls, `catalogue.py` lists
the modules of functions. To add a function, write it into one of these modules under its signature.
"""
