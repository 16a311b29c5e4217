"""Other search libraries on the same chunks and the same vectors: `python -m benchmarks.peers DATASET`."""
