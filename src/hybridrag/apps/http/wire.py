"""What travels over HTTP besides the types of the engine."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from hybridrag.apps.http.jobs import Job
from hybridrag.types.base import Model
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.graph import Community, Entity, GraphPath, Neighbour, Relation
from hybridrag.types.ids import EntityId, FileId


class ClassifyRequest(Model):
    """A question to classify."""

    text: str = Field(min_length=1, max_length=1000)
    """The question."""


class TextUpload(Model):
    """A document given as text."""

    name: str = Field(min_length=1, max_length=1000)
    """What to keep it under; the same name again replaces it. Its ending, such as .md, says how it is read."""
    text: str
    """The text."""
    workspace: str | None = Field(default=None, min_length=1, max_length=200)
    """Where it goes; not given means that of the settings, or the only one of the key."""


class DocumentPage(Model):
    """Some of the documents, by workspace and name."""

    documents: tuple[FileInfo, ...]
    """The documents of this page."""
    next_cursor: str | None = None
    """Where the next page begins; None on the last."""


class DocumentText(Model):
    """The text of a document, which all offsets point into."""

    id: FileId
    """The document."""
    text: str
    """Its text as it was read."""


class PassagePage(Model):
    """The passages of a document, in reading order."""

    passages: tuple[Chunk, ...]
    """Each with its place in the text."""


class MarkedPassage(Model):
    """A document at one of its passages."""

    document: FileInfo
    """The document."""
    passage: Chunk
    """The passage: `text.slice(start, end)` of the document's text, in code points."""
    before: str
    """The text that stands before it."""
    after: str
    """The text that follows it."""
    has_original: bool
    """Whether the file can be fetched as it was uploaded."""


class JobPage(Model):
    """Some of the jobs, the newest first."""

    jobs: tuple[Job, ...]
    """The jobs of this page."""
    next_cursor: str | None = None
    """Where the next page begins; None on the last."""


class WorkspaceInfo(Model):
    """A workspace."""

    name: str
    """Its name."""
    files: int = Field(ge=0)
    """How many documents it holds."""


class WorkspacePage(Model):
    """The workspaces that the caller may see."""

    workspaces: tuple[WorkspaceInfo, ...]
    """By name."""


class Removed(Model):
    """What was removed."""

    removed: int = Field(ge=0)
    """How many documents."""


class EntityPage(Model):
    """Entities, best first."""

    entities: tuple[Entity, ...]
    """The entities."""


class NeighbourPage(Model):
    """What an entity has to do with."""

    neighbours: tuple[Neighbour, ...]
    """The closest first."""


class RelationPage(Model):
    """What is said of an entity."""

    relations: tuple[Relation, ...]
    """The best supported first."""


class PathPage(Model):
    """Ways from one entity to another."""

    paths: tuple[GraphPath, ...]
    """The shortest first."""


class CommunityPage(Model):
    """Communities, best first."""

    communities: tuple[Community, ...]
    """The communities."""


class GraphNode(Model):
    """An entity as it is drawn."""

    id: EntityId
    """The entity."""
    name: str
    """Its name."""
    type: str
    """What it is."""
    mentions: int = Field(ge=0)
    """How often it is mentioned; what its size may show."""
    x: float
    """Where to draw it, from 0 to 1."""
    y: float
    """Where to draw it, from 0 to 1."""


class GraphEdge(Model):
    """A line between two entities."""

    source: EntityId
    """One end."""
    target: EntityId
    """The other end."""
    predicate: str | None = None
    """What is said of the two; None where they only stand together."""
    weight: float = Field(ge=0.0)
    """How strong it is."""


class Subgraph(Model):
    """A part of the graph, with places to draw it at."""

    nodes: tuple[GraphNode, ...]
    """The entities."""
    edges: tuple[GraphEdge, ...]
    """What joins them."""


class SettingValue(Model):
    """A setting in effect; a secret is masked."""

    key: str
    """Its name, such as `search.rrf_k`."""
    value: Any = None
    """As JSON holds it."""


class SettingsPage(Model):
    """The settings in effect."""

    settings: tuple[SettingValue, ...]
    """In the order of the documentation."""


class ServerStatus(Model):
    """What the server is and holds."""

    version: str
    """The version of the package."""
    files: int = Field(ge=0)
    """Documents that the caller may see."""
    workspaces: int = Field(ge=0)
    """Workspaces that the caller may see."""
    model: str | None = None
    """The embedding model of the index; None while it is empty."""
    graph: dict[str, int]
    """How many entities, relations and mentions the caller may see."""
    scopes: tuple[str, ...]
    """What the caller may do."""
    answers_by: str
    """`extractive`, or the name of the LLM that writes answers."""


class Health(Model):
    """Whether the server can work."""

    status: str
    """`ok`, or what is missing."""
