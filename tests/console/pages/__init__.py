"""Tests of `penstock.console.pages`."""
