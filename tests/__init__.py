"""Tests mirror the packages; beside them stand properties, golden, simulation, compat, faults and browser."""
