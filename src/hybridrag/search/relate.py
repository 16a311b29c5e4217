"""Search between the ends of a relationship question: what is said of both, what both share, what lies between.

Scores are strong only where the evidence is: a stated fact about both ends counts nearly 1, a name that both happen to
share far less, and an end that is mentioned everywhere proves nothing by standing beside the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hybridrag.language.sentences import sentences
from hybridrag.language.tokenise import query_groups
from hybridrag.protocols import EntityRow, FactRow, Store
from hybridrag.search.named import Named, mentions_name
from hybridrag.types.documents import Chunk
from hybridrag.types.ids import EntityId, RelationId, relation_id_for
from hybridrag.types.queries import RelationHint, SearchFilters
from hybridrag.types.results import Hit

STATED = 1.0
"""A fact between both ends, times its confidence."""
TOGETHER = 0.6
"""A chunk that mentions both ends, times how rarely they meet."""
ONE_SENTENCE = 0.2
"""What it adds that they stand in one sentence."""
ASKED_FACT = 0.6
"""A fact of one end whose predicate the question asks for, times its confidence."""
SHARED = 0.5
"""A chunk of one end with a name that a chunk of the other has too, times how rare that name is."""
BETWEEN = 0.35
"""A chunk that joins a neighbour of one end to a neighbour of the other, times how rare both are."""
CAUSAL = 0.15
"""What causal wording adds where the question asks for a cause or a reason."""

MAX_FACTS = 100
"""Facts read for each end and side, the surest first."""
MAX_CHUNKS = 100
"""Chunks read for each end. One with more is a hub, of which a part is enough."""
MAX_SHARED = 30
"""A name that more chunks mention than this joins nothing."""
NEIGHBOURS = 40
"""Rare neighbours of each end that a path of three steps goes through."""
CHUNKS_BETWEEN = 10
"""Chunks read for each of those."""
FEWEST_ENDS = 2

CAUSAL_WORDING = re.compile(
    r"\b(?:because|due to|caus(?:e|es|ed|ing)|led to|leads? to|result(?:s|ed|ing)? (?:in|from)|as a result|owing to|"
    r"thanks to|in order to|so that|therefore|consequen(?:ce|tly)|reasons?|trigger(?:s|ed)|prompt(?:s|ed)|"
    r"brought about|contribut(?:es?|ed|ing) to|stems? from|stemmed from|after which|in response to)\b"
    r"|ため|ので|原因|理由|によって|により|によ[るり]|結果|引き起こ|招い|もたら|きっかけ|したがって|ゆえ|せいで|おかげ|影響",
    re.IGNORECASE,
)
"""How causes and reasons are worded in both languages."""

_CAUSAL_HINTS = (RelationHint.CAUSATION, RelationHint.REASON)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Why a chunk bears on the relation."""

    kind: str
    strength: float
    path: tuple[int, ...]
    """Entities from one end to the other, or to what is said of it."""
    facts: tuple[FactRow, ...] = ()


@dataclass(slots=True)
class _Search:
    """One question on its way."""

    store: Store
    ends: Sequence[Named]
    terms: frozenset[str]
    filters: SearchFilters | None
    found: dict[int, list[_Evidence]] = field(default_factory=dict)

    def add(self, chunk_key: int, evidence: _Evidence) -> None:
        self.found.setdefault(chunk_key, []).append(evidence)


def search_relations(
    store: Store,
    ends: Sequence[Named],
    question: str,
    *,
    hint: RelationHint | None = None,
    filters: SearchFilters | None = None,
    limit: int = 20,
) -> list[Hit]:
    """The chunks that say how the ends relate, best first, with the names, entities and relations that led there.

    ends "Elvira Quist" and "Norrhamn" -> the chunk "Elvira Quist grew up in Norrhamn." with the path of both names

    For a cause or a reason, chunks that word one count more. With one known end it finds what is said of that end in
    the words of the question; with none, nothing. An empty list is an answer, not an error.
    """
    known = [end for end in ends if end.entity_keys]
    if not known:
        return []
    with store.snapshot():
        search = _Search(store, known, _terms(question), filters)
        _stated(search)
        if len(known) >= FEWEST_ENDS:
            chunks = _chunks_of(search)
            _together(search, chunks)
            _shared(search, chunks)
        return _hits(search, hint, limit)


def _terms(text: str) -> frozenset[str]:
    return frozenset(group.term for group in query_groups(text))


# ---------------------------------------------------------------- evidence


def _stated(search: _Search) -> None:
    """Facts between two ends, and facts of one end that the question asks for."""
    keys = {key for end in search.ends for key in end.entity_keys}
    names = frozenset(term for end in search.ends for term in _terms(end.name))
    for fact in search.store.graph.facts_of(sorted(keys), MAX_FACTS, filters=search.filters):
        path = (fact.subject_key, fact.object_key)
        if fact.subject_key != fact.object_key and keys.issuperset(path):
            search.add(fact.chunk_key, _Evidence("stated", STATED * fact.confidence, path, (fact,)))
        elif _terms(fact.predicate) & (search.terms - names):
            search.add(fact.chunk_key, _Evidence("asked", ASKED_FACT * fact.confidence, path, (fact,)))


def _chunks_of(search: _Search) -> list[dict[int, int]]:
    """For each end, its chunks and which of its entities each mentions."""
    every = sorted({key for end in search.ends for key in end.entity_keys})
    some = search.store.graph.some_mentions(every, MAX_CHUNKS, filters=search.filters)
    return [{chunk: key for key in end.entity_keys for chunk in some.get(key, ())} for end in search.ends]


def _together(search: _Search, chunks: Sequence[Mapping[int, int]]) -> None:
    """Chunks that mention two ends: the fewer there are, the more each says."""
    for place, first in enumerate(chunks):
        for second in chunks[place + 1 :]:
            both = first.keys() & second.keys()
            for chunk in both:
                if first[chunk] != second[chunk]:
                    path = (first[chunk], second[chunk])
                    search.add(chunk, _Evidence("together", TOGETHER * _rare(1 + len(both)), path))


def _shared(search: _Search, chunks: Sequence[Mapping[int, int]]) -> None:
    """Names that chunks of both ends mention; where there are none, what joins a neighbour of each."""
    first, second = chunks[0], chunks[1]
    graph = search.store.graph
    ends = {key for end in search.ends for key in end.entity_keys}
    near: list[dict[int, list[int]]] = [{}, {}]
    for place, own in enumerate((first, second)):
        for row in graph.mentions_in(sorted(own), filters=search.filters):
            if row.entity_key not in ends:
                near[place].setdefault(row.entity_key, []).append(row.chunk_key)
    counts = graph.chunk_frequency(sorted({*near[0], *near[1]}))
    near = [{key: found for key, found in side.items() if 1 < counts.get(key, 0) <= MAX_SHARED} for side in near]
    common = near[0].keys() & near[1].keys()
    for key in common:
        strength = SHARED * _rare(counts[key])
        for side, own, other in ((near[0], first, second), (near[1], second, first)):
            for chunk in side[key]:
                path = (own[chunk], key, next(iter(other.values())))
                search.add(chunk, _Evidence("shared", strength, path))
    if not common and first.keys().isdisjoint(second.keys()):
        _between(search, near, counts, (first, second))


def _between(
    search: _Search,
    near: Sequence[Mapping[int, Sequence[int]]],
    counts: Mapping[int, int],
    chunks: tuple[Mapping[int, int], Mapping[int, int]],
) -> None:
    """Chunks that mention a rare neighbour of one end and a rare neighbour of the other."""
    ends: list[dict[int, int]] = []
    for side in near:
        rarest = sorted(side, key=lambda key: (counts[key], key))[:NEIGHBOURS]
        some = search.store.graph.some_mentions(rarest, CHUNKS_BETWEEN, filters=search.filters)
        reached: dict[int, int] = {}
        for key in rarest:
            for chunk in some.get(key, ()):
                reached.setdefault(chunk, key)
        ends.append(reached)
    first, last = (next(iter(side.values())) for side in chunks)
    for chunk in ends[0].keys() & ends[1].keys():
        one, other = ends[0][chunk], ends[1][chunk]
        strength = BETWEEN * _rare(counts[one]) * _rare(counts[other])
        path = (first, one, other, last)
        for key in (chunk, near[0][one][0], near[1][other][0]):
            search.add(key, _Evidence("between", strength, path))


def _rare(count: int) -> float:
    """How much sharing says when so many chunks do: 1 / log2(count), at most 1.

    2 -> 1.0; 4 -> 0.5; 16 -> 0.25
    """
    return 1.0 / math.log2(max(2, count))


# ---------------------------------------------------------------- hits


def _hits(search: _Search, hint: RelationHint | None, limit: int) -> list[Hit]:
    chunks = search.store.chunks_by_key(sorted(search.found), filters=search.filters)
    graph = search.store.graph
    passed = {key for listed in search.found.values() for it in listed for key in it.path}
    rows = graph.entities(sorted(passed), filters=search.filters)
    ids = graph.entity_ids(sorted(rows))
    hits = []
    for key, listed in search.found.items():
        visible = [it for it in listed if all(entity in rows for entity in it.path)]
        if key not in chunks or not visible:
            continue
        worded = [_worded(it, chunks[key], rows, hint) for it in visible]
        hits.append(_hit(key, chunks[key], worded, rows, ids))
    hits.sort(key=lambda hit: (-hit.score, hit.key))
    return hits[:limit]


def _worded(evidence: _Evidence, chunk: Chunk, rows: Mapping[int, EntityRow], hint: RelationHint | None) -> _Evidence:
    """The evidence with what its wording adds."""
    strength = evidence.strength
    text = chunk.text
    if evidence.kind == "together":
        both = _sentence_of_both(text, [rows[key] for key in evidence.path])
        strength += ONE_SENTENCE if both else 0.0
        text = both or text
    elif evidence.facts:
        text = text[evidence.facts[0].start : evidence.facts[0].end]
    if hint in _CAUSAL_HINTS and CAUSAL_WORDING.search(text):
        strength += CAUSAL
    return replace(evidence, strength=min(1.0, strength))


def _sentence_of_both(text: str, rows: Sequence[EntityRow]) -> str:
    """The first sentence that holds a name of each; "" where none does."""
    for start, end in sentences(text):
        said = text[start:end]
        if all(_says(said, row) for row in rows):
            return said
    return ""


def _says(text: str, row: EntityRow) -> bool:
    folded = " ".join(re.findall(r"\w+", text.casefold())) if row.name.isascii() else text.casefold()
    return any(mentions_name(folded, name.casefold()) for name in (row.name, *row.aliases))


def _hit(
    key: int, chunk: Chunk, listed: Sequence[_Evidence], rows: Mapping[int, EntityRow], ids: Mapping[int, EntityId]
) -> Hit:
    best = max(listed, key=lambda it: (it.strength, it.kind))
    return Hit(
        id=chunk.id,
        score=best.strength,
        key=key,
        path=tuple(rows[entity].name for entity in best.path),
        entity_ids=_each_once(ids[entity] for it in listed for entity in it.path),
        relation_ids=_each_relation(listed, ids),
        details={"evidence": best.kind, **({"predicate": best.facts[0].predicate} if best.facts else {})},
    )


def _each_once(found: Iterable[EntityId]) -> tuple[EntityId, ...]:
    return tuple(dict.fromkeys(found))


def _each_relation(listed: Sequence[_Evidence], ids: Mapping[int, EntityId]) -> tuple[RelationId, ...]:
    return tuple(
        dict.fromkeys(
            relation_id_for(ids[fact.subject_key], fact.predicate, ids[fact.object_key])
            for it in listed
            for fact in it.facts
        )
    )
