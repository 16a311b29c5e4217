"""The knowledge graph, as far as the caller's documents state it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from hybridrag import Community, Entity, InvalidInput, KnowledgeGraph, SearchFilters
from hybridrag.apps.access import Access
from hybridrag.apps.http.depend import MISSING, PROBLEMS, Searching, State
from hybridrag.apps.http.drawing import draw
from hybridrag.apps.http.routes.search import as_json
from hybridrag.apps.http.wire import (
    CommunityPage,
    EntityPage,
    NeighbourPage,
    PathPage,
    RelationPage,
    Subgraph,
)
from hybridrag.types.ids import CommunityId, EntityId

router = APIRouter(prefix="/v1/graph", tags=["graph"], responses=PROBLEMS)

Workspace = Annotated[str | None, Query(min_length=1, max_length=200, description="Only this workspace.")]
Name = Annotated[str, Query(min_length=1, max_length=500)]
Text = Annotated[str | None, Query(max_length=500)]
Few = Annotated[int, Query(ge=1, le=100, description="At most so many.")]


def graph_in(access: Access, workspace: str | None) -> KnowledgeGraph:
    """The graph of the caller, or of one workspace of theirs."""
    return access.graph(SearchFilters(workspace_ids=None if workspace is None else (workspace,)))


def named(text: str) -> str | EntityId:
    """An entity by its id or by one of its names."""
    try:
        return EntityId(text)
    except ValueError:
        return text


@router.get("/entities", response_model=EntityPage)
async def find_entities(
    state: State, access: Searching, *, q: Name, workspace: Workspace = None, limit: Few = 10
) -> Response:
    """Entities whose name is, holds or resembles the text, best first."""

    def page() -> str:
        return EntityPage(entities=tuple(graph_in(access, workspace).find(q, limit=limit))).model_dump_json()

    return as_json(await state.work(page))


@router.get("/entities/{entity_id}", response_model=Entity, responses=MISSING)
async def get_entity(entity_id: EntityId, state: State, access: Searching, *, workspace: Workspace = None) -> Response:
    """One entity."""
    return as_json(await state.work(lambda: graph_in(access, workspace).entity(entity_id).model_dump_json()))


@router.get("/entities/{entity_id}/neighbours", response_model=NeighbourPage, responses=MISSING)
async def get_neighbours(
    entity_id: EntityId, state: State, access: Searching, *, workspace: Workspace = None, limit: Few = 20
) -> Response:
    """The entities that share most with this one, and what is said of the two."""

    def page() -> str:
        found = graph_in(access, workspace).neighbours(entity_id, limit=limit)
        return NeighbourPage(neighbours=tuple(found)).model_dump_json()

    return as_json(await state.work(page))


@router.get("/entities/{entity_id}/relations", response_model=RelationPage, responses=MISSING)
async def get_relations(
    entity_id: EntityId, state: State, access: Searching, *, workspace: Workspace = None, limit: Few = 50
) -> Response:
    """What is said of an entity, with the sentences that say it."""

    def page() -> str:
        graph = graph_in(access, workspace)
        graph.entity(entity_id)
        return RelationPage(relations=tuple(graph.relations([entity_id], limit=limit))).model_dump_json()

    return as_json(await state.work(page))


@router.get("/paths", response_model=PathPage, responses=MISSING)
async def find_paths(
    state: State,
    access: Searching,
    *,
    start: Annotated[str, Query(alias="from", min_length=1, max_length=500, description="A name or an id.")],
    end: Annotated[str, Query(alias="to", min_length=1, max_length=500, description="A name or an id.")],
    workspace: Workspace = None,
    hops: Annotated[int, Query(ge=1, le=5, description="The most steps.")] = 3,
    limit: Annotated[int, Query(ge=1, le=10, description="At most so many.")] = 3,
) -> Response:
    """Ways from one entity to another, the shortest first."""

    def page() -> str:
        found = graph_in(access, workspace).paths(named(start), named(end), max_hops=hops, limit=limit)
        return PathPage(paths=tuple(found)).model_dump_json()

    return as_json(await state.work(page))


@router.get("/communities", response_model=CommunityPage)
async def list_communities(
    state: State,
    access: Searching,
    *,
    q: Text = None,
    level: Annotated[int | None, Query(ge=0, le=20, description="0 is the coarsest.")] = None,
    workspace: Workspace = None,
    limit: Few = 10,
) -> Response:
    """The communities nearest in meaning to a text or, without one, the weightiest of a level."""

    def page() -> str:
        if q is not None and not q.strip():
            raise InvalidInput("`q` is empty.", hint="Leave it out to list communities.")
        found = graph_in(access, workspace).communities(q, level=level, limit=limit)
        return CommunityPage(communities=tuple(found)).model_dump_json()

    return as_json(await state.work(page))


@router.get("/communities/{community_id}", response_model=Community, responses=MISSING)
async def get_community(
    community_id: CommunityId, state: State, access: Searching, *, workspace: Workspace = None
) -> Response:
    """One community."""
    return as_json(await state.work(lambda: graph_in(access, workspace).community(community_id).model_dump_json()))


@router.get("/subgraph", response_model=Subgraph, responses=MISSING)
async def get_subgraph(
    state: State,
    access: Searching,
    *,
    around: Annotated[str | None, Query(min_length=1, max_length=500, description="A name or an id.")] = None,
    workspace: Workspace = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="At most so many entities.")] = 300,
) -> Response:
    """The most mentioned entities, or those around one, with what joins them and places to draw them at."""

    def page() -> str:
        centre = None if around is None else named(around)
        return draw(graph_in(access, workspace), around=centre, limit=limit).model_dump_json()

    return as_json(await state.work(page))
