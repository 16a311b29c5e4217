"""How the package's own cross-encoder was made: one command per step, see README.md beside this file."""
