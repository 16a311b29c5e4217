"""Contract suites that every store, index, embedder and reranker passes, and deterministic fakes; public."""
