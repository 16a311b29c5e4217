"""Metrics, data sets, runs, reports."""
