"""What the knowledge graph holds: entities, the relations between them, and the communities that they form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from hybridrag.types.base import Model
from hybridrag.types.ids import ChunkId, CommunityId, EntityId, FileId, RelationId, SectionId


class EntityType(StrEnum):
    """What an entity is."""

    PERSON = "person"
    """Someone with a name."""
    ORGANISATION = "organisation"
    """A company, agency, school, party or team."""
    PLACE = "place"
    """A country, town, building or landscape."""
    PRODUCT = "product"
    """Something made: a device, a program, a library, a brand."""
    EVENT = "event"
    """Something that happened or will happen."""
    WORK = "work"
    """A book, film, song, law or paper."""
    CONCEPT = "concept"
    """An idea, method or term."""
    TIME = "time"
    """A date, period or age."""
    OTHER = "other"
    """None of these, or not known."""


class Entity(Model):
    """A named thing that the documents speak of: a node of the graph."""

    id: EntityId
    """The same for every spelling of the name."""
    name: str = Field(min_length=1)
    """The name as the documents write it most often."""
    type: EntityType = EntityType.OTHER
    """What it is."""
    aliases: tuple[str, ...] = ()
    """Its other names, without `name` itself."""
    description: str | None = None
    """What the documents say it is, where they do."""
    mention_count: int = Field(default=0, ge=0)
    """How often the documents mention it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, the usual one first."""
        return (self.name, *self.aliases)


class Evidence(Model):
    """A sentence that states a relation, and the chunk that it stands in.

    A relation is visible through a filter only by the chunks of its evidence.
    """

    chunk_id: ChunkId
    """Where it stands."""
    sentence: str = Field(min_length=1)
    """What it says."""


class Relation(Model):
    """That one entity has to do with another, and where that is written: an edge of the graph."""

    id: RelationId
    """The same for the same source, predicate and target."""
    source_id: EntityId
    """Of whom or what it is said."""
    target_id: EntityId
    """Whom or what it leads to."""
    predicate: str = Field(min_length=1)
    """How they relate, in the words of the documents: `acquired`, `設立した`."""
    weight: float = Field(default=1.0, ge=0.0)
    """How strong it is: grows with the evidence."""
    evidence: tuple[Evidence, ...] = ()
    """The sentences that state it."""

    @property
    def chunk_ids(self) -> tuple[ChunkId, ...]:
        """The chunks that support it, each once, in the order of the evidence."""
        return tuple(dict.fromkeys(item.chunk_id for item in self.evidence))


class Community(Model):
    """Entities that have more to do with one another than with the rest, and what they are about.

    Level 0 is the coarsest; every community below it has a parent one level up.
    """

    id: CommunityId
    """The same for the same members on the same level."""
    level: int = Field(default=0, ge=0)
    """How deep in the hierarchy; 0 at the top."""
    parent_id: CommunityId | None = None
    """The community that it is part of; None at the top."""
    title: str
    """What it is about, in a few words."""
    summary: str = ""
    """What it is about, in a few sentences."""
    entity_ids: tuple[EntityId, ...] = Field(min_length=1)
    """Its members."""
    key_entities: tuple[EntityId, ...] = ()
    """The members that matter most, the first of all first."""
    rank: float = Field(default=0.0, ge=0.0)
    """How much it matters among the communities of its level; more is better."""

    @model_validator(mode="after")
    def _fits_the_hierarchy(self) -> Self:
        if (self.level == 0) != (self.parent_id is None):
            msg = "a community has a parent exactly when its level is above 0"
            raise ValueError(msg)
        if self.parent_id == self.id:
            msg = "a community cannot be its own parent"
            raise ValueError(msg)
        if not set(self.key_entities) <= set(self.entity_ids):
            msg = "keyEntities must be members of the community"
            raise ValueError(msg)
        return self


class Section(Model):
    """A document, or the part of it under a heading: a node of the graph beside the entities."""

    id: SectionId
    """The same for the same headings in the same file."""
    file_id: FileId
    """The file that it is, or is part of."""
    title: str = Field(min_length=1)
    """Its heading; of a document its title, or the name of its file."""
    headings: tuple[str, ...] = ()
    """The headings down to its own, outermost first; none for the document itself."""


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where a chunk stands in its document: what a store tells of structure."""

    chunk_key: int
    chunk_id: ChunkId
    file_id: FileId
    ordinal: int
    headings: tuple[str, ...]


class Outline(Model):
    """How a document is made up: from the file to its sections to its chunks."""

    section: Section
    """The document, or a section of it."""
    chunk_ids: tuple[ChunkId, ...] = ()
    """The chunks that stand right under its heading, in reading order."""
    parts: tuple[Outline, ...] = ()
    """The sections that it is divided into, in reading order."""


class Neighbour(Model):
    """An entity that has to do with another, and why."""

    entity: Entity
    """The other one."""
    weight: float = Field(ge=0.0)
    """How closely they belong together: shared chunks, less where either is mentioned everywhere."""
    relations: tuple[Relation, ...] = ()
    """What is said of the two, in either direction."""
    chunk_ids: tuple[ChunkId, ...] = ()
    """Chunks that mention both, or that mention one under the name of the other."""
    sections: tuple[Section, ...] = ()
    """Documents and sections that are called like the one and speak of the other."""


class PathStep(Model):
    """One step of a path: two nodes and the chunk that joins them."""

    source_id: str
    """Where the step begins: the id of an entity or of a section."""
    target_id: str
    """Where it ends."""
    predicate: str | None = None
    """What the chunk says of two entities, or how a section has to do with the other end; None where a chunk only
    mentions both."""
    chunk_id: ChunkId
    """The chunk that joins them."""


class GraphPath(Model):
    """How one entity leads to another."""

    nodes: tuple[Entity | Section, ...] = Field(min_length=1)
    """Entities, and the documents and sections between them, from the first to the last."""
    steps: tuple[PathStep, ...] = ()
    """One fewer than the nodes."""

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The entities on the way."""
        return tuple(node for node in self.nodes if isinstance(node, Entity))

    @property
    def names(self) -> tuple[str, ...]:
        """The names and titles on the way."""
        return tuple(node.name if isinstance(node, Entity) else node.title for node in self.nodes)
