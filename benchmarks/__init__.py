"""Speed, size and quality, measured; each prints a table: `python -m benchmarks.NAME`."""
