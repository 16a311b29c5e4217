"""Run the app with uvicorn, in one process or several."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial

import uvicorn
from uvicorn.supervisors import Multiprocess

from hybridrag import InvalidInput, Settings
from hybridrag.apps.http.app import create_app
from hybridrag.apps.http.guard import is_loopback
from hybridrag.apps.keys import Keys, data_dir

SHUTDOWN_SECONDS = 10
"""How long requests under way may take to end."""


def run(settings: Settings, *, tell: Callable[[str], None]) -> None:
    """Serve until the process is told to end; `tell` gets the address.

    Raises:
        InvalidInput: other machines could reach it and there is no key, or the address cannot be listened on.
    """
    server = settings.server
    if not is_loopback(server.host) and not Keys(data_dir(settings)).known():
        raise InvalidInput(
            f"Listening on {server.host} lets other machines in, and there is no key yet.",
            hint="Make one first: hybridrag keys create --scope search --workspace NAME",
        )
    config = uvicorn.Config(
        partial(create_app, settings),
        factory=True,
        host=server.host,
        port=server.port,
        workers=server.workers,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=64 * 1024,
    )
    listening = _listen(server.host, server.port)
    address = listening.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    tell(f"hybridrag listens on http://{shown}:{address[1]} (documentation: /docs). Ctrl-C ends it.")
    try:
        if server.workers > 1:
            Multiprocess(config, [listening]).run()
        else:
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.set_inheritable(True)
    except OSError as cause:
        raise InvalidInput(
            f"The server cannot listen on {host}:{port} ({cause.strerror}).", hint="Choose another with --port."
        ) from cause
    return listening
