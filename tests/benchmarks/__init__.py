"""Benchmarks against the systems that do this job today; ``python tests/benchmarks --help``."""
