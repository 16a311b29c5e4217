"""What a multi-hop search misses, counted by how the question and the other documents speak of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.evaluate import EvalRun
from hybridrag.evaluate.runs import AskedQuery, QueryOutcome
from hybridrag.evaluate.score import outcomes_of
from hybridrag.language.normalise import fold
from hybridrag.types.sources import TextDocument

FIRST = 5
NEAR = 10
DEEP = 50
"""Documents of a ranking that a run keeps."""

NAMESAKE = "the question names it, and another document of that name stands before it"
NAMED = "the question names it, and documents that fit the words better stand before it"
LINKED = "a marked document that was found names it, and the trail there counts too little"
UNLINKED = "the marked documents that were found do not name it as its title does"
NO_START = "the marked document that leads there was missed as well"
KINDS = (NAMESAKE, NAMED, LINKED, UNLINKED, NO_START)

_ASIDE = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, slots=True)
class Miss:
    """A marked document that is not among the first results."""

    query: str
    type: str
    """Of the question, as the set calls it."""
    document: str
    kind: str
    rank: int | None
    """Where it stands; None where it is not among the first fifty."""
    classified: str


def find_misses(run: EvalRun, recipe: str, documents: Sequence[TextDocument]) -> list[Miss]:
    """Every marked document that is not among the first five of the recipe's results, with how it was missed."""
    by_id = {document.name: document for document in documents}
    names = Counter(_bare(document.title) for document in documents if document.title)
    return [
        miss
        for query, outcome in outcomes_of(run, recipe)
        if query.has_evidence
        for miss in _misses(query, outcome, by_id, names)
    ]


def _misses(
    query: AskedQuery, outcome: QueryOutcome, by_id: Mapping[str, TextDocument], names: Mapping[str, int]
) -> list[Miss]:
    marked = [document for document, grade in query.gold.items() if grade >= 1 and document in by_id]
    found = [by_id[document] for document in marked if document in outcome.ranking[:FIRST]]
    missed = [by_id[document] for document in marked if document not in outcome.ranking[:FIRST]]
    return [
        Miss(
            query=query.id,
            type=query.type,
            document=document.name,
            kind=kind_of(query.text, document, found, missed, namesakes=names[_bare(document.title)] - 1),
            rank=outcome.ranking.index(document.name) + 1 if document.name in outcome.ranking else None,
            classified=outcome.classified or "",
        )
        for document in missed
    ]


def kind_of(
    question: str,
    document: TextDocument,
    found: Sequence[TextDocument],
    missed: Sequence[TextDocument],
    *,
    namesakes: int,
) -> str:
    """How a document was missed; `found` and `missed` are the documents marked for the question.

    "Who directed Harbour?", "Harbour (film)", nothing found -> the question names it
    """
    if _names(question, document):
        return NAMESAKE if namesakes > 0 else NAMED
    if any(_names(other.text, document) for other in found):
        return LINKED
    if any(_names(other.text, document) for other in missed if other is not document):
        return NO_START
    return UNLINKED


def _names(text: str, document: TextDocument) -> bool:
    """Whether the document's title stands in the text, with or without what brackets add to it."""
    title = _bare(document.title)
    return bool(title) and re.search(rf"(?<!\w){re.escape(title)}(?!\w)", fold(text)) is not None


def _bare(title: str | None) -> str:
    return fold(_ASIDE.sub("", title or "")).strip()
