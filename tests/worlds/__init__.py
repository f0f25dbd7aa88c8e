"""Worlds that generate data or whole experiments whose truth is known, for tests and benchmarks."""
