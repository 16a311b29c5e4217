"""Vector indexes behind one contract: exact, quantised, DiskANN."""
