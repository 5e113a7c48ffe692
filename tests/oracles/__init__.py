"""Slow and obvious implementations that the tests compare the real ones with."""
