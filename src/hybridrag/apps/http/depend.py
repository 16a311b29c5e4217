"""What routes ask for: the state of the server, the caller's view of the engine, and the problems that they declare."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from hybridrag.apps.access import Access
from hybridrag.apps.http.guard import CALLER
from hybridrag.apps.http.problems import MEDIA_TYPE
from hybridrag.apps.http.state import ServerState
from hybridrag.apps.keys import Scope

_PROBLEM = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}}

PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: {"description": "A valid key is needed.", **_PROBLEM},
    403: {"description": "The key may not do this.", **_PROBLEM},
    422: {"description": "A value is wrong.", **_PROBLEM},
    "default": {"description": "Any other problem.", **_PROBLEM},
}
"""What every operation may answer besides its result."""

MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such thing for this key.", **_PROBLEM}}
"""The same for operations on one thing."""


def server_state(request: Request) -> ServerState:
    """The state of this server process."""
    state: ServerState = request.app.state.server
    return state


State = Annotated[ServerState, Depends(server_state)]


def needs(scope: Scope) -> Any:
    """A dependency: the caller's view of the engine, where their key has that scope."""

    def access(request: Request) -> Access:
        found = Access(server_state(request).engine, request.scope[CALLER])
        found.caller.require(scope)
        return found

    return Depends(access)


Searching = Annotated[Access, needs(Scope.SEARCH)]
Writing = Annotated[Access, needs(Scope.WRITE)]
Administering = Annotated[Access, needs(Scope.ADMIN)]
