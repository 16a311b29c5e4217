"""Thin programs over the public API."""
