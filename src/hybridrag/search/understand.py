"""Stage 1: what a question wants, which names it holds, in which other words to search it, and how."""

from __future__ import annotations

from collections.abc import Sequence

from hybridrag.config import SearchSettings
from hybridrag.errors import RAGError
from hybridrag.protocols import GraphStore, Llm
from hybridrag.queries.classify import classify
from hybridrag.queries.classify_llm import classify_with_llm
from hybridrag.queries.expand import Expansion, ExpansionSource, expand
from hybridrag.queries.operators import read_operators
from hybridrag.queries.plan import make_plan
from hybridrag.queries.question import read_question
from hybridrag.queries.recognise import KnownName, recognise
from hybridrag.queries.synonyms import default_synonyms, load_synonyms
from hybridrag.search.record import Note, Recorder
from hybridrag.search.state import SearchState
from hybridrag.steps import Step
from hybridrag.types.queries import QueryClassification, SearchFilters, SearchQuery

MAX_SEARCHED = 4
"""Expansions searched beside the question. Each costs a keyword search, and the fifth has found nothing new."""

MAX_ALIASES = 3
"""Other names taken of one entity, the most used first."""


class Understander:
    """Reads questions: by the rules, or by an LLM with the rules as its fallback. Thread-safe."""

    def __init__(self, graph: GraphStore, settings: SearchSettings, llm: Llm | None = None) -> None:
        self._graph = graph
        self._settings = settings
        self._synonyms = load_synonyms(settings.synonyms) if settings.synonyms else default_synonyms()
        self._llm = llm

    def understand(self, query: SearchQuery, recorder: Recorder) -> SearchState:
        """What the question wants and how to search it; a graph or LLM that fails only takes its part away."""
        filters = query.filters
        operators = read_operators(query.text)
        text = operators.words if operators else query.text
        with recorder.step(Step.CLASSIFY) as note:
            names = self._names(text, filters, note)
            found = self._classify(text, names, note)
            weights = self._settings.weights.of(found.type)
            found = found.model_copy(update={"suggested_weights": weights, "original_query": query.text})
            note.details |= {
                "type": found.type.value,
                "confidence": found.confidence,
                "entities": list(found.extracted_entities),
                "intent": found.intent,
            }
        with recorder.step(Step.EXPAND) as note:
            expansions = self._expand(text, names, filters, note)
        if expansions:
            texts = tuple(dict.fromkeys(expansion.text for expansion in expansions))
            found = found.model_copy(update={"expanded_queries": texts})
        with recorder.step(Step.PLAN) as note:
            plan = make_plan(query, found, self._settings)
            note.details |= {
                "type": plan.type.value,
                "typeFrom": plan.type_from,
                "weights": plan.weights.model_dump(mode="json"),
                "weightsFrom": plan.weights_from,
                "candidates": plan.candidates,
            }
        question = read_question(text, found, operators=operators)
        return SearchState(query, question, plan, recorder, names=names, expansions=expansions)

    def _names(self, text: str, filters: SearchFilters, note: Note) -> tuple[KnownName, ...]:
        try:
            return tuple(recognise(text, lambda norms: self._graph.entity_keys(norms, filters=filters)))
        except RAGError as error:
            note.degrade(f"The graph was not asked for names: {error.message}")
            return ()

    def _classify(self, text: str, names: Sequence[KnownName], note: Note) -> QueryClassification:
        def known(_: str) -> list[str]:
            return [name.text for name in names]

        if self._llm is None:
            note.details["by"] = "rules"
            return classify(text, min_confidence=self._settings.min_confidence, known_names=known)
        found = classify_with_llm(text, self._llm, min_confidence=self._settings.min_confidence, known_names=known)
        note.details["by"] = "rules" if found.degraded else self._llm.info.name
        if found.degraded:
            note.degrade(found.degraded)
        return found.classification

    def _expand(
        self, text: str, names: Sequence[KnownName], filters: SearchFilters, note: Note
    ) -> tuple[Expansion, ...]:
        if not self._settings.expand:
            note.skip("Switched off.")
            return ()
        try:
            aliases = self._aliases(names, filters)
        except RAGError as error:
            note.degrade(f"The graph was not asked for other names: {error.message}")
            aliases = {}
        found = expand(text, self._synonyms, aliases, limit=1 + MAX_SEARCHED)
        chosen = tuple(item for item in found if item.source is not ExpansionSource.ORIGINAL)
        note.details["queries"] = [
            {"text": item.text, "replaced": item.replaced, "source": item.source.value, "weight": item.weight}
            for item in chosen
        ]
        return chosen

    def _aliases(self, names: Sequence[KnownName], filters: SearchFilters) -> dict[str, list[str]]:
        """What the visible documents call the things that the question names."""
        rows = self._graph.entities([name.entity_key for name in names], filters=filters)
        aliases: dict[str, list[str]] = {}
        for name in names:
            row = rows.get(name.entity_key)
            if row is None:
                continue
            folded = name.text.casefold()
            others = [other for other in (row.name, *row.aliases) if other.casefold() not in folded]
            if others:
                aliases[name.text] = others[:MAX_ALIASES]
        return aliases
