"""Chunks -> what each says: names, aliases, facts. The extractor is chosen by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from hybridrag.errors import InvalidSettings
from hybridrag.graph.extract_light import NO_CONTEXT, extract_light
from hybridrag.graph.extract_spacy import Pipeline, installed_model, mentions_of, with_model_types
from hybridrag.graph.mentions import Context, Extraction
from hybridrag.graph.relations import relate
from hybridrag.graph.relations_parse import parse_facts
from hybridrag.language.detect import detect
from hybridrag.types.extraction import ChunkGraph, Fact

if TYPE_CHECKING:
    from spacy.tokens import Doc

RULES_VERSION = 3
"""Grows whenever the same text would give other names or facts: indexes written before are rebuilt."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk's text with what is known of it."""

    text: str
    language: str | None = None
    context: Context = NO_CONTEXT

    @property
    def spoken(self) -> str:
        """Its language, looked up where it is not given."""
        return self.language or detect(self.text)


class Extractor(Protocol):
    """Reads chunks one by one, in any batch, from any thread. An empty text says nothing.

    Raises:
        ModelUnavailable: a pipeline that it needs is not installed.
    """

    @property
    def name(self) -> str:
        """Which it is, with its models and their versions, for people and for the index."""
        ...

    def extract(self, passages: Sequence[Passage]) -> list[ChunkGraph]:
        """What each passage says, in order: the same for the same passage, whatever else is in the batch."""
        ...


class LightExtractor:
    """Rules alone: no model, some hundred chunks a second."""

    @property
    def name(self) -> str:
        """Such as "light 3"."""
        return f"light {RULES_VERSION}"

    def extract(self, passages: Sequence[Passage]) -> list[ChunkGraph]:
        """Names and facts by the way they are written."""
        return [_light(passage) for passage in passages]


def _light(passage: Passage) -> ChunkGraph:
    language = passage.spoken
    extraction = extract_light(passage.text, language=language, context=passage.context)
    return _found(passage, extraction, language)


def _found(passage: Passage, extraction: Extraction, language: str) -> ChunkGraph:
    facts = relate(passage.text, extraction.mentions, language=language, context=passage.context)
    return ChunkGraph(extraction.mentions, extraction.aliases, facts)


class SpacyExtractor:
    """A spaCy pipeline for each language, with facts by its parse; `light` names under its types where asked for.

    English and Japanese have pipelines; chunks in other languages are read by the light extractor.
    """

    def __init__(self, *, languages: Sequence[str] = ("en", "ja"), light_names: bool = False) -> None:
        self._light_names = light_names
        self._pipelines = {language: Pipeline(language, parse=True) for language in languages}

    @property
    def name(self) -> str:
        """Such as "combined 3 (en_core_web_sm 3.8.0)"."""
        kind = "combined" if self._light_names else "spacy"
        return f"{kind} {RULES_VERSION} ({', '.join(it.name for it in self._pipelines.values())})"

    def extract(self, passages: Sequence[Passage]) -> list[ChunkGraph]:
        """Names and facts by the pipelines.

        Raises:
            ModelUnavailable: a pipeline is not installed.
        """
        found: dict[int, ChunkGraph] = {}
        languages = [passage.spoken for passage in passages]
        for language, pipeline in self._pipelines.items():
            chosen = [at for at, spoken in enumerate(languages) if spoken == language]
            found.update(zip(chosen, self._read(pipeline, [passages[at] for at in chosen]), strict=True))
        return [found[at] if at in found else _light(passage) for at, passage in enumerate(passages)]

    def _read(self, pipeline: Pipeline, passages: Sequence[Passage]) -> list[ChunkGraph]:
        documents = pipeline.read([passage.text for passage in passages]) if passages else []
        return [self._one(pipeline, passage, row) for passage, row in zip(passages, documents, strict=True)]

    def _one(self, pipeline: Pipeline, passage: Passage, row: list[tuple[int, Doc]]) -> ChunkGraph:
        model = Extraction(tuple(it for offset, document in row for it in mentions_of(document, offset)))
        light = extract_light(passage.text, language=pipeline.language, context=passage.context)
        if self._light_names:
            chosen = with_model_types(light, model, language=pipeline.language)
        else:
            chosen = replace(light, mentions=model.mentions)
        parsed = [fact for offset, document in row for fact in parse_facts(document, chosen.mentions, offset)]
        read = _found(passage, chosen, pipeline.language)
        return replace(read, facts=_merged(read.facts, parsed))


def _merged(first: Sequence[Fact], second: Sequence[Fact]) -> tuple[Fact, ...]:
    """Both, each triple of a sentence once, at its surest."""
    best: dict[tuple[str, str, str, int], Fact] = {}
    for fact in (*first, *second):
        triple = (fact.subject_key, fact.predicate, fact.object_key, fact.start)
        if triple not in best or fact.confidence > best[triple].confidence:
            best[triple] = fact
    return tuple(sorted(best.values(), key=lambda it: (it.start, it.subject_key, it.predicate, it.object_key)))


CHOICES = ("auto", "light", "spacy", "combined")


def choose_extractor(setting: str = "auto") -> Extractor:
    """The extractor of that name; `auto` takes the best that is installed, and its `name` says which.

    "light" -> rules alone; "spacy" -> pipelines alone; "combined" -> rules for names, pipelines for types and parses

    Raises:
        InvalidSettings: there is no extractor of that name.
    """
    if setting == "light":
        return LightExtractor()
    if setting == "spacy":
        return SpacyExtractor()
    if setting == "combined":
        return SpacyExtractor(light_names=True)
    if setting != "auto":
        raise InvalidSettings(where="settings", key="graph.extractor", expected=f"must be one of {', '.join(CHOICES)}")
    # Measured on gold texts: for Japanese the rules are better than the pipeline in names and in types; for English
    # they are better in names, and the pipeline adds to the types.
    if installed_model("en"):
        return SpacyExtractor(languages=("en",), light_names=True)
    return LightExtractor()
