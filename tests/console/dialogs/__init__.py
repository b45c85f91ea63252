"""Tests of `penstock.console.dialogs`."""
