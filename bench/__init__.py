"""Benchmarks: each writes what it measured, and where, to `results/NAME.json` and `.md`."""
