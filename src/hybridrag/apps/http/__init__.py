"""The HTTP server: `hybridrag serve`, or `create_app(settings)` for any ASGI server."""

from hybridrag.apps.http.app import create_app

__all__ = ["create_app"]
