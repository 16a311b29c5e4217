"""Keyword, semantic and graph search; fuse, rerank, highlight."""
