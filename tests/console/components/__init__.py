"""Tests of `penstock.console.components`."""
