"""How good and how fast extraction is: `python -m benchmarks.extraction --data DIR [--limit N] [--light] [--facts N]`.

Reads `redocred/dev.json.gz` (English: names, relations) and `ner_wikipedia_ja/ner.json` (Japanese: names) under DIR.
Gold types are coarser than ours, so a gold type accepts a set of ours. Numbers are left out on both sides, and so are
our terms (type concept), which no gold set marks. The rules were written with the first texts of both sets at hand;
`light, new` is measured on the others alone. Speed is in passages per second of processor time, so that a busy
machine does not change it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from hybridrag.graph.extract import Extractor, LightExtractor, Passage, SpacyExtractor
from hybridrag.graph.extract_light import extract_light
from hybridrag.graph.extract_spacy import Pipeline, installed_model, with_model_types
from hybridrag.graph.mentions import Context, Extraction
from hybridrag.language.sentences import sentences
from hybridrag.types.extraction import Mention
from hybridrag.types.graph import EntityType

PERSON, ORGANISATION, PLACE = EntityType.PERSON, EntityType.ORGANISATION, EntityType.PLACE
WORK, PRODUCT, EVENT = EntityType.WORK, EntityType.PRODUCT, EntityType.EVENT
ENGLISH_TYPES: dict[str, set[EntityType]] = {
    "PER": {PERSON},
    "ORG": {ORGANISATION},
    "LOC": {PLACE},
    "TIME": {EntityType.TIME},
    "MISC": {EVENT, WORK, PRODUCT, EntityType.CONCEPT, EntityType.OTHER},
}
JAPANESE_TYPES: dict[str, set[EntityType]] = {
    "人名": {PERSON},
    "法人名": {ORGANISATION},
    "政治的組織名": {ORGANISATION},
    "その他の組織名": {ORGANISATION},
    "地名": {PLACE},
    "施設名": {PLACE, ORGANISATION},
    "製品名": {PRODUCT, WORK},
    "イベント名": {EVENT},
}
MAX_PAIRED = 60
"""With more names a chunk is a list or a table: pairing all of them would say nothing."""
SEEN = {"en": 150, "ja": 400}
"""The rules were written while looking at so many of the first passages of each set."""

NO_SPACE_BEFORE = frozenset({",", ".", ";", ":", "!", "?", ")", "]", "%", "'s", "'ll", "'re", "'ve", "n't", "’s", "-"})
NO_SPACE_AFTER = frozenset({"(", "[", "$", "£", "€", "-"})
QUOTE = '"'


@dataclass(frozen=True, slots=True)
class Gold:
    start: int
    end: int
    types: frozenset[EntityType]
    entity: int


@dataclass(frozen=True, slots=True)
class Sample:
    text: str
    language: str
    title: str | None
    gold: tuple[Gold, ...]
    pairs: frozenset[tuple[int, int]] = frozenset()
    """Entities that a gold relation connects, the smaller number first."""

    @property
    def passage(self) -> Passage:
        return Passage(self.text, self.language, Context(title=self.title))


@dataclass(slots=True)
class Score:
    found: int = 0
    gold: int = 0
    right: int = 0

    def add(self, found: int, gold: int, right: int) -> None:
        self.found, self.gold, self.right = self.found + found, self.gold + gold, self.right + right

    @property
    def figures(self) -> tuple[float, float, float]:
        precision, recall = self.right / max(1, self.found), self.right / max(1, self.gold)
        return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


# ---------------------------------------------------------------- reading


def join_tokens(sentences: Sequence[Sequence[str]]) -> tuple[str, list[list[tuple[int, int]]]]:
    """The text as it was before it was cut into tokens, and the place of each token."""
    text, rows = "", []
    opened = False
    for sentence in sentences:
        row = []
        previous = ""
        for word in sentence:
            glued = word in NO_SPACE_BEFORE or previous in NO_SPACE_AFTER or (opened and QUOTE in {word, previous})
            if text and not glued:
                text += " "
            opened ^= word == QUOTE
            row.append((len(text), len(text) + len(word)))
            text += word
            previous = word
        rows.append(row)
    return text, rows


def read_redocred(folder: Path, limit: int | None) -> list[Sample]:
    with gzip.open(folder / "redocred" / "dev.json.gz", "rt", encoding="utf-8") as file:
        return [_redocred_sample(document) for document in json.load(file)[:limit]]


def _redocred_sample(document: Mapping[str, Any]) -> Sample:
    text, rows = join_tokens(document["sents"])
    gold = []
    for number, mentions in enumerate(document["vertexSet"]):
        for mention in mentions:
            row, (first, last) = rows[mention["sent_id"]], mention["pos"]
            types = frozenset(ENGLISH_TYPES.get(mention["type"], set()))
            gold.append(Gold(row[first][0], row[last - 1][1], types, number))
    pairs = frozenset((min(it["h"], it["t"]), max(it["h"], it["t"])) for it in document["labels"])
    return Sample(text, "en", document["title"], tuple(gold), pairs)


def read_japanese(folder: Path, limit: int | None) -> list[Sample]:
    rows = json.loads((folder / "ner_wikipedia_ja" / "ner.json").read_text(encoding="utf-8"))[:limit]
    return [Sample(row["text"], "ja", None, tuple(_japanese_gold(row["entities"]))) for row in rows]


def _japanese_gold(entities: Iterable[Mapping[str, Any]]) -> Iterable[Gold]:
    for number, entity in enumerate(entities):
        start, end = entity["span"]
        yield Gold(start, end, frozenset(JAPANESE_TYPES[entity["type"]]), number)


# ---------------------------------------------------------------- names

KINDS = ("exact", "typed", "touching", "touched")
ReadNames = Callable[[Sequence[Sample]], list[Extraction]]


def read_light(samples: Sequence[Sample]) -> list[Extraction]:
    return [extract_light(sample.text, language=sample.language, context=sample.passage.context) for sample in samples]


def reader_spacy(pipeline: Pipeline) -> ReadNames:
    return lambda samples: pipeline.extract([sample.text for sample in samples])


def reader_combined(pipeline: Pipeline) -> ReadNames:
    def read(samples: Sequence[Sample]) -> list[Extraction]:
        found = pipeline.extract([sample.text for sample in samples])
        rows = zip(read_light(samples), found, strict=True)
        return [with_model_types(light, model, language=pipeline.language) for light, model in rows]

    return read


def compare(mentions: Sequence[Mention], sample: Sample, scores: Mapping[str, Score]) -> None:
    """Count matches of the exact stretch, with and without type, and of overlapping ones."""
    numbers = [it for it in sample.gold if not it.types]
    gold = {(it.start, it.end): it.types for it in sample.gold if it.types}
    named = [it for it in mentions if not any(it.start < other.end and other.start < it.end for other in numbers)]
    exact = [it for it in named if (it.start, it.end) in gold]
    touching = [it for it in named if any(it.start < end and start < it.end for start, end in gold)]
    touched = [(start, end) for start, end in gold if any(it.start < end and start < it.end for it in named)]
    scores["exact"].add(len(named), len(gold), len(exact))
    scores["typed"].add(len(named), len(gold), sum(it.type in gold[it.start, it.end] for it in exact))
    scores["touching"].add(len(named), len(named), len(touching))
    scores["touched"].add(len(gold), len(gold), len(touched))


def measure_names(name: str, samples: Sequence[Sample], read: ReadNames, *, without: set[EntityType]) -> None:
    read(samples[:1])  # a model is loaded at first use
    started = time.process_time()
    extractions = read(samples)
    seconds = time.process_time() - started
    scores = {kind: Score() for kind in KINDS}
    for sample, extraction in zip(samples, extractions, strict=True):
        compare([it for it in extraction.mentions if it.type not in without], sample, scores)
    figures = [*scores["exact"].figures, *scores["typed"].figures]
    figures += [scores["touching"].figures[0], scores["touched"].figures[0]]
    print(f"{name:10}" + "".join(f"{100 * it:8.1f}" for it in figures) + f"{len(samples) / seconds:12.0f}")


def names_table(title: str, samples: Sequence[Sample], *, light_only: bool, without: set[EntityType]) -> None:
    print(f"\n{title}: {len(samples)} passages, {sum(len(it.text) for it in samples)} characters")
    heads = ["exact P", "R", "F1", "typed P", "R", "F1", "overl. P", "R"]
    print(f"{'names':10}" + "".join(f"{head:>8}" for head in heads) + f"{'passages/s':>12}")
    measure_names("light", samples, read_light, without=without)
    language = samples[0].language
    if unseen := samples[SEEN[language] :]:
        measure_names("light, new", unseen, read_light, without=without)
    if not light_only and installed_model(language):
        pipeline = Pipeline(language)
        measure_names("spacy", samples, reader_spacy(pipeline), without=without)
        measure_names("combined", samples, reader_combined(pipeline), without=without)


# ---------------------------------------------------------------- relations


def measure_relations(name: str, samples: Sequence[Sample], extractor: Extractor) -> None:
    extractor.extract([samples[0].passage])
    started = time.process_time()
    found = extractor.extract([sample.passage for sample in samples])
    seconds = time.process_time() - started
    gold = facts = right = 0
    connected = dict.fromkeys(("fact", "sentence", "chunk"), 0)
    for sample, result in zip(samples, found, strict=True):
        entities = _entities_by_key(result.mentions, sample)
        near, beside = _together(result.mentions, sentences(sample.text))
        rows = {
            "fact": [_pairs(entities, it.subject_key, it.object_key) for it in result.facts],
            "sentence": [_pairs(entities, *pair) for pair in sorted(near)],
            "chunk": [_pairs(entities, *pair) for pair in sorted(beside)],
        }
        gold += len(sample.pairs)
        facts += sum(bool(pairs) for pairs in rows["fact"])
        right += sum(bool(pairs & sample.pairs) for pairs in rows["fact"])
        for kind, row in rows.items():
            connected[kind] += len(set().union(*row) & sample.pairs)
    shares = "".join(f"{100 * count / gold:10.1f}" for count in connected.values())
    print(f"{name:10}{shares}{facts:10}{100 * right / max(1, facts):12.1f}{len(samples) / seconds:12.0f}")


def _entities_by_key(mentions: Sequence[Mention], sample: Sample) -> dict[str, set[int]]:
    entities: dict[str, set[int]] = defaultdict(set)
    for mention in mentions:
        entities[mention.key] |= {it.entity for it in sample.gold if mention.start < it.end and it.start < mention.end}
    return entities


def _together(
    mentions: Iterable[Mention], spans: Sequence[tuple[int, int]]
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The pairs of names that share a sentence, and those that share the chunk."""
    named = list(mentions)
    rows = [sorted({it.key for it in named if start <= it.start < end}) for start, end in spans]
    near = {pair for row in rows if len(row) <= MAX_PAIRED for pair in combinations(row, 2)}
    every = sorted({it.key for it in named})
    return near, near | (set(combinations(every, 2)) if len(every) <= MAX_PAIRED else set())


def _pairs(entities: Mapping[str, set[int]], first: str, second: str) -> set[tuple[int, int]]:
    return {(min(a, b), max(a, b)) for a in entities.get(first, ()) for b in entities.get(second, ()) if a != b}


def relations_table(samples: Sequence[Sample], *, light_only: bool) -> None:
    pairs = sum(len(sample.pairs) for sample in samples)
    print(f"\nEnglish (redocred): {pairs} gold pairs; how many are connected, and how many facts join a gold pair (%)")
    heads = ("by fact", "sentence", "chunk", "facts", "precision", "passages/s")
    print(f"{'relations':10}" + "".join(f"{head:>{10 if at < 4 else 12}}" for at, head in enumerate(heads)))
    measure_relations("light", samples, LightExtractor())
    if unseen := samples[SEEN["en"] :]:
        measure_relations("light, new", unseen, LightExtractor())
    if not light_only and installed_model("en"):
        measure_relations("spacy", samples, SpacyExtractor(languages=("en",)))
        measure_relations("combined", samples, SpacyExtractor(languages=("en",), light_names=True))


def facts_to_read(title: str, samples: Sequence[Sample], count: int, *, seed: int = 77) -> None:
    """Facts of texts that the rules were not written on, drawn at random, for people to read."""
    unseen = samples[SEEN[samples[0].language] :]
    found = LightExtractor().extract([sample.passage for sample in unseen])
    rows = [(fact, sample.text) for sample, graph in zip(unseen, found, strict=True) for fact in graph.facts]
    print(f"\n{title}: {min(count, len(rows))} of {len(rows)} facts")
    for fact, text in random.Random(seed).sample(rows, min(count, len(rows))):
        sentence = " ".join(text[fact.start : fact.end].split())
        print(f"{fact.subject_key} | {fact.predicate} | {fact.object_key} || {sentence}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with redocred/ and ner_wikipedia_ja/")
    parser.add_argument("--limit", type=int, default=None, help="read only the first N passages of each set")
    parser.add_argument("--light", action="store_true", help="leave the spaCy pipelines out")
    parser.add_argument("--facts", type=int, default=None, metavar="N", help="only print N facts of each set to read")
    options = parser.parse_args()
    english, japanese = read_redocred(options.data, options.limit), read_japanese(options.data, options.limit)
    if options.facts:
        facts_to_read("English (redocred)", english, options.facts)
        facts_to_read("Japanese (ner_wikipedia_ja)", japanese, options.facts)
        return
    terms = {EntityType.CONCEPT}
    names_table("English (redocred)", english, light_only=options.light, without=terms)
    # The Japanese set marks no dates.
    names_table("Japanese (ner_wikipedia_ja)", japanese, light_only=options.light, without=terms | {EntityType.TIME})
    relations_table(english, light_only=options.light)


if __name__ == "__main__":
    main()
