"""The command line: one module per command, each a thin call of the public API."""

from hybridrag.apps.cli.run import main

__all__ = ["main"]
