"""Tell what a community is about: a title from its key entities, and the sentences that speak of most of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hybridrag.graph.names import is_japanese
from hybridrag.language.sentences import sentences
from hybridrag.protocols import EntityRow, Keys, SentenceRow, StoreWithCommunities
from hybridrag.types.graph import EntityType
from hybridrag.types.queries import SearchFilters

KEY_ENTITIES = 12
"""How many members stand for a community; what a filter hides of them leaves enough."""

TITLE_NAMES = 3
TITLE_LENGTH = 80
"""Characters: a title is read in a list."""

SENTENCES = 8
"""Kept for each community. A filter may hide some."""

SHOWN_SENTENCES = 4
"""A summary is read at a glance."""

CHUNKS = 10
"""How many chunks the sentences are taken from."""

SHORT_LIST = 64
"""How many chunks are weighed for that, the ones that speak most of the key entities."""

COVERED_AGAIN = 0.5
"""An entity counts this much less each time that a sentence speaks of it, so that the next one speaks of another."""

LEAST_GAIN = 0.1
"""A chunk that adds less than this share of what the first one told is not worth reading."""

LEAST_SENTENCE = 0.25
"""The same for a sentence: it would be about something else."""

SHORTEST = 10
SHORTEST_JAPANESE = 6
LONGEST = 300
"""Characters of a sentence that reads well by itself."""

ALIKE = 0.6
"""Share of letter pairs that two sentences have in common from which on they say the same."""

_ENDS = tuple(".!?。！？")
_CLOSING = "」』”\"')）*_ "
"""What may stand after the stop."""
_LABEL = re.compile(r"[#|]|(?:[^\s:：]{1,20}[ ]?){1,3}[:：]\s*\S")
"""How headings, table rows, mail headers and lists of attendants begin: "Present: ...", "差出人：..."."""
_BULLET = re.compile(r"^(?:[-*•]\s+|[■・※]\s*|\d{1,2}[.)、]\s*)")
_EMPHASIS = re.compile(r"\*\*|__")


@dataclass(frozen=True, slots=True)
class Told:
    """What a community is shown by, as text."""

    title: str
    sentences: tuple[tuple[SentenceRow, str], ...]

    @property
    def summary(self) -> str:
        """The most telling sentences as one text: chunk by chunk, those of one as they are read.

        ["Sony makes cameras.", "Nikon does too."] -> "Sony makes cameras. Nikon does too."
        """
        # Not by the keys of the chunks: those tell in which order files were added.
        place = {key: at for at, key in enumerate(self.chunk_keys)}
        shown = sorted(self.sentences[:SHOWN_SENTENCES], key=lambda it: (place[it[0].chunk_key], it[0].start))
        return join_sentences([text for _, text in shown])

    @property
    def chunk_keys(self) -> list[int]:
        """The chunks that it is told from, each once."""
        return list(dict.fromkeys(row.chunk_key for row, _ in self.sentences))

    @property
    def text_hash(self) -> bytes:
        """The same for the same title and sentences."""
        text = "\x1f".join([self.title, *(text for _, text in self.sentences)])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def join_sentences(texts: Sequence[str]) -> str:
    """Sentences as one text, without marks of lists and emphasis: with spaces between them, but for Japanese ones.

    ["- **東京**は首都だ。", "人口が多い。"] -> "東京は首都だ。人口が多い。"
    """
    joined = ""
    for text in texts:
        line = _BULLET.sub("", _EMPHASIS.sub("", " ".join(text.split())))
        gap = "" if not joined or (is_japanese(joined[-2:]) and is_japanese(line[:2])) else " "
        joined += gap + line
    return joined


def title_of(entities: Sequence[EntityRow]) -> str:
    """A title from the key entities, the first of all first; dates only where there is nothing else.

    Sony, Sony Corporation, 1946, Akio Morita, Nikon -> "Sony, Akio Morita, Nikon"
    """
    dated = [it.name for it in entities if it.type is EntityType.TIME]
    chosen: list[str] = []
    for name in [*(it.name for it in entities if it.type is not EntityType.TIME), *dated]:
        if len(chosen) == TITLE_NAMES or (chosen and name in dated):
            break
        folded = name.casefold()
        if not any(folded in other.casefold() or other.casefold() in folded for other in chosen):
            chosen.append(name)
    gap = "、" if chosen and is_japanese(chosen[0]) else ", "
    while len(chosen) > 1 and len(gap.join(chosen)) > TITLE_LENGTH:
        chosen.pop()
    return gap.join(chosen)[:TITLE_LENGTH]


def tell(
    store: StoreWithCommunities,
    key_entities: Mapping[int, Sequence[tuple[int, float]]],
    *,
    filters: SearchFilters | None = None,
) -> dict[int, Told]:
    """What each community is about, by its key entities with their strength, from the visible chunks alone.

    {7: [(sony, 2.0), (nikon, 1.0)]} -> {7: Told("Sony, Nikon", ("Sony and Nikon make cameras.", ...))}
    """
    if not key_entities:
        return {}
    every = sorted({entity for listed in key_entities.values() for entity, _ in listed})
    entities = store.graph.entities(every, filters=filters)
    mentioned = store.communities.chunks_mentioning(every, filters=filters)
    short = {key: _short_list(listed, mentioned) for key, listed in key_entities.items()}
    ids = store.communities.chunk_ids(sorted({chunk for listed in short.values() for chunk in listed}))
    chosen = {
        key: _choose_chunks(key_entities[key], mentioned, sorted(listed, key=lambda chunk: ids[chunk]))
        for key, listed in short.items()
    }
    wanted = sorted({chunk for listed in chosen.values() for chunk in listed})
    spoken = _Sentences(store, wanted, filters)
    return {
        key: Told(
            title_of([entities[entity] for entity, _ in listed if entity in entities]),
            spoken.choose(listed, chosen[key]),
        )
        for key, listed in key_entities.items()
    }


def _weights(listed: Sequence[tuple[int, float]]) -> NDArray[np.float64]:
    """How much each key entity counts; alike where nothing ties them."""
    weights = np.array([strength for _, strength in listed], dtype=float)
    return weights if weights.sum() > 0 else np.ones(len(listed))


def _short_list(listed: Sequence[tuple[int, float]], mentioned: Mapping[int, Keys]) -> list[int]:
    """The chunks that speak most of the key entities."""
    weights = _weights(listed)
    found = [
        (mentioned[entity], weight) for (entity, _), weight in zip(listed, weights, strict=True) if entity in mentioned
    ]
    if not found:
        return []
    chunks, places = np.unique(np.concatenate([keys for keys, _ in found]), return_inverse=True)
    said = np.concatenate([np.full(len(keys), weight) for keys, weight in found])
    scores = np.bincount(places, said)
    if len(chunks) <= SHORT_LIST:
        return [int(key) for key in chunks]
    # Chunks that score alike are all taken, as far as that goes: which of them were added first must not matter.
    least = np.partition(scores, -SHORT_LIST)[-SHORT_LIST]
    kept = np.flatnonzero(scores >= least)
    kept = kept[np.argsort(-scores[kept], kind="stable")][: 4 * SHORT_LIST]
    return [int(key) for key in chunks[kept]]


def _choose_chunks(
    listed: Sequence[tuple[int, float]], mentioned: Mapping[int, Keys], chunks: Sequence[int]
) -> list[int]:
    """The few chunks that together speak of most key entities."""
    if not chunks:
        return []
    keys = np.array(chunks, dtype=np.int64)
    spoken = np.stack([_holds(mentioned.get(entity), keys) for entity, _ in listed], axis=1)
    return [chunks[place] for place in _cover(spoken, _weights(listed), CHUNKS, LEAST_GAIN)]


def _holds(ascending: Keys | None, keys: Keys) -> NDArray[np.bool_]:
    """Which keys are among the ascending ones: a look-up for each of a few in what may be many."""
    if ascending is None:
        return np.zeros(len(keys), dtype=bool)
    found = ascending[np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)] == keys
    return np.asarray(found, dtype=bool)


def _cover(spoken: NDArray[np.bool_], weights: NDArray[np.float64], limit: int, least: float) -> list[int]:
    """Rows that together cover the most weight, greedily; of equal rows the first."""
    left = weights.copy()
    free = np.ones(len(spoken))
    rows: list[int] = []
    first = 0.0
    while len(rows) < min(limit, len(spoken)):
        gains = (spoken @ left) * free
        best = int(np.argmax(gains))
        if gains[best] <= least * first:
            break
        first = first or float(gains[best])
        rows.append(best)
        free[best] = 0.0
        left[spoken[best]] *= COVERED_AGAIN
    return rows


class _Sentences:
    """The sentences of chunks and which entities each of them mentions."""

    def __init__(self, store: StoreWithCommunities, chunk_keys: Sequence[int], filters: SearchFilters | None) -> None:
        self._spans: dict[int, list[tuple[SentenceRow, str, set[int]]]] = {}
        places: dict[int, list[tuple[int, int, int]]] = {}
        for chunk, entity, start, end in store.communities.mention_places(chunk_keys, filters=filters):
            places.setdefault(chunk, []).append((start, end, entity))
        for key, chunk_ in store.chunks_by_key(chunk_keys, filters=filters).items():
            self._spans[key] = [
                (
                    SentenceRow(key, start, end),
                    chunk_.text[start:end],
                    {entity for first, last, entity in places.get(key, ()) if start <= first and last <= end},
                )
                for start, end in sentences(chunk_.text)
            ]

    def choose(
        self, listed: Sequence[tuple[int, float]], chunk_keys: Sequence[int]
    ) -> tuple[tuple[SentenceRow, str], ...]:
        """The sentences that together speak of most key entities, the most telling first; none is said twice."""
        wanted = [entity for entity, _ in listed]
        lines: dict[str, tuple[SentenceRow, str, set[int]]] = {}
        for chunk in chunk_keys:
            for row, text, said in self._spans.get(chunk, ()):
                if said.intersection(wanted) and _is_sentence(text):
                    lines.setdefault(" ".join(text.casefold().split()), (row, text, said))
        if not lines:
            return ()
        kept = list(lines.values())
        spoken = np.array([[entity in said for entity in wanted] for _, _, said in kept], dtype=bool)
        places = _cover(spoken, _weights(listed), 2 * SENTENCES, LEAST_SENTENCE)
        return tuple(_not_alike([kept[place][:2] for place in places])[:SENTENCES])


def _not_alike(lines: Sequence[tuple[SentenceRow, str]]) -> list[tuple[SentenceRow, str]]:
    """Sentences without those that say again what an earlier one says, in nearly the same words."""
    kept: list[tuple[SentenceRow, str]] = []
    seen: list[set[str]] = []
    for row, text in lines:
        letters = "".join(text.casefold().split())
        pairs = {letters[at : at + 2] for at in range(len(letters))}
        if not any(len(pairs & other) > ALIKE * len(pairs | other) for other in seen):
            kept.append((row, text))
            seen.append(pairs)
    return kept


def _is_sentence(text: str) -> bool:
    """Whether a text reads by itself: no heading, table row, mail header, script, style sheet or stub."""
    line = _BULLET.sub("", _EMPHASIS.sub("", text.strip()))
    shortest = SHORTEST_JAPANESE if is_japanese(line) else SHORTEST
    ends = line.rstrip(_CLOSING).endswith(_ENDS)
    return shortest <= len(line) <= LONGEST and ends and "|" not in line and not _LABEL.match(line)
