"""The index for agents, by the Model Context Protocol: over stdio (`hybridrag mcp`) and under /mcp of the server."""

from hybridrag.apps.mcp.server import make_server

__all__ = ["make_server"]
