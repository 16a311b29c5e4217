"""MCP by streamable HTTP: the same keys, workspaces and limits as every other request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from hybridrag.apps.access import Access
from hybridrag.apps.http.guard import CALLER
from hybridrag.apps.http.state import ServerState
from hybridrag.apps.mcp import make_server


@asynccontextmanager
async def serve_agents(state: ServerState) -> AsyncIterator[ASGIApp]:
    """What answers under /mcp, as long as the server runs."""
    settings = state.settings.server

    def access_for(request: Any) -> Access:
        return Access(state.engine, request.scope[CALLER])

    server = make_server(access_for, state.work, public_url=settings.public_url, write=settings.mcp_write)
    # Without sessions, so that any worker process may answer; hosts are checked by the guard, proxies included.
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=settings.max_body_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    manager: StreamableHTTPSessionManager = server.session_manager
    async with manager.run():
        yield manager.asgi_app
