"""One script a library, run by that library's own Python: `python -m benchmarks.peers.runners.NAME build|search ...`.

They import the standard library, numpy and the library that they run, and nothing of hybridrag.
"""
