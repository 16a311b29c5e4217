"""Stores whose texts name things in braces: "{Sony} and {Nikon} make cameras."."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from hybridrag.protocols import NewChunk
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import DIMENSION, make_file, make_vector
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk
from hybridrag.types.extraction import AliasKind, AliasRecord, ChunkGraph, Fact, FactKind, Mention, Source
from hybridrag.types.graph import EntityType
from hybridrag.types.ids import FileId, chunk_id_for

_NAME = re.compile(r"\{([^{}]+)\}")
_SAME = re.compile(r"\{([^{}]+)\} \(also \{([^{}]+)\}\)")
_KNOWS = re.compile(r"\{([^{}]+)\} knows \{([^{}]+)\}")


def read_marked(marked: str) -> tuple[str, ChunkGraph]:
    """The text without its braces, and what it says: "{A} (also {B})" is an alias, "{A} knows {B}" a fact."""
    text = ""
    mentions = []
    at = 0
    for match in _NAME.finditer(marked):
        text += marked[at : match.start()]
        name = match[1]
        kind = EntityType.TIME if name.isdigit() else EntityType.OTHER
        mentions.append(Mention(name, name.casefold(), kind, len(text), len(text) + len(name), 0.9, Source.NAME))
        text += name
        at = match.end()
    text += marked[at:]
    end = len(text)
    aliases = [
        AliasRecord(one.casefold(), other.casefold(), AliasKind.ALSO_KNOWN_AS, 0, end)
        for one, other in _SAME.findall(marked)
    ]
    facts = [
        Fact(one.casefold(), "knows", other.casefold(), 0, end, 0.8, FactKind.VERB)
        for one, other in _KNOWS.findall(marked)
    ]
    return text, ChunkGraph(mentions=tuple(mentions), aliases=tuple(aliases), facts=tuple(facts))


def put_marked(store: EmbeddedStore, name: str, parts: Sequence[str], *, workspace: str = "default") -> FileId:
    """Write a file whose chunks are the marked texts."""
    file = make_file(name, workspace=workspace)
    chunks: list[NewChunk] = []
    seen: dict[str, int] = {}
    texts = []
    place = 0
    for ordinal, marked in enumerate(parts):
        text, graph = read_marked(marked)
        seen[text] = seen.get(text, -1) + 1
        chunk = Chunk(
            id=chunk_id_for(file.id, text, seen[text]),
            file_id=file.id,
            ordinal=ordinal,
            text=text,
            start=place,
            end=place + len(text),
        )
        chunks.append(NewChunk(chunk=chunk, passage=text, vector=make_vector(text), graph=graph))
        texts.append(text)
        place += len(text) + 1
    store.put_file(file, "\n".join(texts), chunks)
    return file.id


class CountingEmbedder:
    """Unit vectors that only the text decides, and a list of the texts that were embedded."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Float32Array:
        self.texts.extend(texts)
        return np.stack([make_vector(text) for text in texts]) if texts else np.zeros((0, DIMENSION), np.float32)


def living(store: EmbeddedStore) -> set[int]:
    """Every entity that a chunk mentions, as the store tells it."""
    with store._database.read() as connection:
        sql = "SELECT DISTINCT n.entity_key FROM mentions m JOIN names n ON n.key = m.name_key"
        return {int(key) for (key,) in connection.execute(sql)}


def check_communities(store: EmbeddedStore) -> None:
    """Each level covers exactly what is there; sizes, ids, parents and sums are right; nothing names what is gone."""
    from hybridrag.graph.community_ties import UNITS
    from hybridrag.types.ids import community_id_for

    communities = store.communities
    here = living(store)
    ids = store.graph.entity_ids(sorted(here))
    weights = _weights(store)
    levels = communities.level_counts()
    assert communities.state().pending == 0
    assert bool(levels) == bool(here)
    for level, count in enumerate(levels):
        keys = communities.at_level(level, 10**6)
        assert len(keys) == count
        nodes = communities.nodes(keys)
        members = {key: [row.entity_key for row in communities.members(key)] for key in keys}
        listed = [entity for group in members.values() for entity in group]
        assert sorted(listed) == sorted(here), f"level {level}"
        for key, node in nodes.items():
            assert node.size == len(members[key])
            assert node.id == community_id_for(node.level, (ids[entity] for entity in members[key]))
            if node.level < level:
                continue
            parent = communities.nodes([node.parent_key])[node.parent_key] if level else None
            around = here if parent is None else {row.entity_key for row in communities.members(parent.key)}
            group = set(members[key])
            assert group <= around
            inside = sum(w for (a, b), w in weights.items() if a in group and b in group)
            total = sum(w * ((a in group) + (b in group)) for (a, b), w in weights.items() if {a, b} <= around)
            assert node.inside == inside
            assert node.total == total
            profile = communities.profiles([key])[key]
            assert {entity for entity, _ in profile.key_entities} <= group
            assert profile.key_entities
    assert communities.state().weight == sum(weights.values())
    assert all(float(weight * UNITS).is_integer() for weight in weights.values())


def _weights(store: EmbeddedStore) -> Mapping[tuple[int, int], float]:
    """Every tie by a second, simpler reckoning."""
    from hybridrag.graph.community_ties import neighbours

    ties = store.communities.ties()
    found: dict[tuple[int, int], float] = {}
    for entity in living(store):
        for other, weight in neighbours(entity, (it for it in ties.values() if entity in it.members)).items():
            found[min(entity, other), max(entity, other)] = weight
    return found
