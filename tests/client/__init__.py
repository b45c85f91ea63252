"""Tests of `penstock.client`: pure ones, and ones against a broker in this process."""
