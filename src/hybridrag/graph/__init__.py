"""Chunks -> entities, relations, communities, summaries."""
