"""Benchmarks: commands that measure what the documentation claims, ``python -m structpos.bench.NAME``."""
