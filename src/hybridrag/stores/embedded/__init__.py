"""The default store: one directory with one SQLite database, and vector indexes derived from it."""
