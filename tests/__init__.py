"""Tests mirror the packages; beside them stand properties, golden files, simulation, compat, faults and browser."""
