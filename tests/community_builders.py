"""Stores whose texts name things in braces: "{Sony} and {Nikon} make cameras."."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from hybridrag.graph.community_ties import MAX_TIED, UNITS
from hybridrag.protocols import NewChunk
from hybridrag.stores.embedded.community_check import community_problems
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import DIMENSION, make_file, make_vector
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk
from hybridrag.types.extraction import AliasKind, AliasRecord, ChunkGraph, Fact, FactKind, Mention, Source
from hybridrag.types.graph import EntityType
from hybridrag.types.ids import FileId, chunk_id_for, community_id_for

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
    communities = store.communities
    here = living(store)
    ids = store.graph.entity_ids(sorted(here))
    paths = communities.of_entities(sorted(here))
    levels = communities.level_counts()
    assert communities.state().pending == 0
    assert bool(levels) == bool(here)
    with store._database.read() as connection:
        assert community_problems(connection) == []
    assert paths.keys() == here, "an entity belongs nowhere"
    for level, count in enumerate(levels):
        keys = communities.at_level(level, 10**6)
        assert len(keys) == count
        listed = [row.entity_key for key in keys for row in communities.members(key)]
        assert sorted(listed) == sorted(here), f"level {level} does not cover what is there"
    groups: dict[int, set[int]] = {}
    for entity, path in paths.items():
        for key in path:
            groups.setdefault(key, set()).add(entity)
    with store._database.read() as connection:
        sql = "SELECT key, id, level, size, inside FROM communities"
        nodes = {key: (identity, level, size, inside) for key, identity, level, size, inside in connection.execute(sql)}
        strengths = dict(connection.execute("SELECT entity_key, strength FROM community_members"))
    assert nodes.keys() == groups.keys(), "an empty community is left"
    for key, group in groups.items():
        identity, level, size, _ = nodes[key]
        assert size == len(group)
        assert identity == community_id_for(level, (ids[entity] for entity in group))
        profile = communities.profiles([key])[key]
        assert profile.key_entities
        assert {entity for entity, _ in profile.key_entities} <= group
    inside = dict.fromkeys(nodes, 0.0)
    strength = dict.fromkeys(paths, 0.0)
    for (one, other), weight in _weights(store).items():
        for left, right in zip(paths[one], paths[other], strict=False):
            if left != right:
                break
            inside[left] += weight
        if paths[one][-1] == paths[other][-1]:
            strength[one] += weight
            strength[other] += weight
    assert {key: node[-1] for key, node in nodes.items()} == inside
    assert strengths == strength


def _weights(store: EmbeddedStore) -> Mapping[tuple[int, int], float]:
    """Every tie by a second, simpler reckoning."""
    found: dict[tuple[int, int], float] = {}
    for ties in store.communities.ties():
        for pair in combinations(ties.members.tolist(), 2):
            if len(ties.members) <= MAX_TIED:
                found[pair] = found.get(pair, 0.0) + round(UNITS / (len(ties.members) - 1)) / UNITS
        for low, high, units in ties.facts.tolist():
            found[low, high] = found.get((low, high), 0.0) + units / UNITS
    return found
