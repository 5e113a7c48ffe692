"""Strangers' input, drawn from bytes, and what must hold of each: for the fuzzer and for ``hostile``."""
