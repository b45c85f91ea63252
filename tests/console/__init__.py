"""Tests of `penstock.console`: pure ones, the JSON API, and the pages in NiceGUI's simulation, over a fake
cluster.
"""
