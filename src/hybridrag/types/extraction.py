"""What is found in one chunk for the graph: mentions, aliases, facts, and links to titles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hybridrag.types.graph import EntityType


class Source(StrEnum):
    """What in the text gave a mention away."""

    NAME = "name"
    """It is written like a name: capitals, katakana, a proper noun."""
    TITLE = "title"
    """It is the title or a heading of the document it stands in."""
    QUOTE = "quote"
    """It stands in quotation marks."""
    CODE = "code"
    """It is an identifier, a file name, or set as code."""
    ACRONYM = "acronym"
    """The text gives its short or its long form."""
    DATE = "date"
    """It is a date, year or period."""
    NOUN = "noun"
    """It is a compound of nouns without a proper name: a term."""
    MODEL = "model"
    """A language model marked it."""


class AliasKind(StrEnum):
    """How the text says that two names are one."""

    ACRONYM = "acronym"
    """Retrieval-Augmented Generation (RAG)."""
    ALSO_KNOWN_AS = "also_known_as"
    """X, also known as Y; X（以下「Y」という）."""
    READING = "reading"
    """山田太郎（やまだたろう）."""
    SCRIPT = "script"
    """ジョン・スミス（John Smith）."""


class FactKind(StrEnum):
    """By what in the sentence a fact was read."""

    VERB = "verb"
    """X founded Y; XがYを設立."""
    COPULA = "copula"
    """X is the director of Y; XはYの監督."""
    APPOSITION = "apposition"
    """X, the director of Y; Yの監督X."""
    POSSESSIVE = "possessive"
    """Y's director X."""
    PREPOSITION = "preposition"
    """X in Y; Guri, Bolívar."""
    PARSE = "parse"
    """A dependency parse."""
    MODEL = "model"
    """A language model stated it."""


@dataclass(frozen=True, slots=True)
class Mention:
    """`text[start:end] == name`: a named thing at its exact place in a chunk's text."""

    name: str
    key: str
    """What it is the same by: `name_key(name)`, or the key of the whole name where this is a short form of it."""
    type: EntityType
    start: int
    end: int
    confidence: float
    """0-1, how sure that this is a name; not how sure of its type."""
    source: Source
    type_strength: int = 0
    """How good the cue for the type was: 0 none, 1 a hint, 2 the sentence says it, 3 the name says it."""


@dataclass(frozen=True, slots=True)
class AliasRecord:
    """`text[start:end]` says that two keys name one thing."""

    name_key: str
    alias_key: str
    kind: AliasKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fact:
    """`text[start:end]` is the sentence that says: subject, predicate, object."""

    subject_key: str
    predicate: str
    """Readable between the two: `founded`, `director of`; 設立, 監督 (of the subject: the object)."""
    object_key: str
    start: int
    end: int
    confidence: float
    kind: FactKind


@dataclass(frozen=True, slots=True)
class Link:
    """`text[start:end]` names what has this alias."""

    alias_key: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ChunkGraph:
    """Everything that one chunk says: a function of its text, title and headings alone."""

    mentions: tuple[Mention, ...] = ()
    aliases: tuple[AliasRecord, ...] = ()
    facts: tuple[Fact, ...] = ()


NOTHING_SAID = ChunkGraph()
"""A chunk that names nothing."""
