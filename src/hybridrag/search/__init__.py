"""One question through the engine: understand, retrieve, fuse, rerank, verify, correct, present."""
