"""Hostile input, by the thousand, in the process of the tests."""
