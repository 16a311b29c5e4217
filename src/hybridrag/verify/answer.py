"""Answer in the documents' own sentences, each with its citation; or say what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.protocols import Candidate, Question
from hybridrag.types.answers import EXTRACTIVE, Answer, AnswerSentence, Citation
from hybridrag.types.queries import QueryType, RelationHint
from hybridrag.verify.features import Read, read_all
from hybridrag.verify.read import Name, Passage, Sentence, name_presence
from hybridrag.verify.refine import Strip, context_of, rate_sentences

MAX_SENTENCES = 3
"""Sentences of an answer to a question for a fact."""

MAX_THEMES = 5
"""Sentences of an overview: one from each of so many documents."""

ALSO_FROM = 0.85
"""A further sentence is quoted when it says at least this share of what the best one says."""

RANK_SHARE = 0.15
"""How much the candidate's own score adds to a sentence: of two alike the one in the better passage is quoted."""

LONGEST_QUOTE = 600
"""Characters of one quotation; a table or a list without full stops is one sentence as long as its page."""


@dataclass(frozen=True, slots=True)
class _Quote:
    """A sentence, with the one before where it refers back."""

    at: int
    start: int
    end: int
    weight: float


def extract_answer(
    question: Question,
    candidates: Sequence[Candidate],
    *,
    strips: Mapping[str, Sequence[Strip]] | None = None,
) -> Answer:
    """The one to three sentences that answer best, in reading order, each with its citation.

    "When was Orin Works founded?" -> "Orin Works was founded in 1987. [1]"

    A comparison gets a sentence for every side, an overview one from each of several candidates. `strips` limits
    what may be quoted of a candidate, by its id. Without candidates it is an abstention.
    """
    read = read_all(question, candidates)
    quotes = [quote for at in range(len(candidates)) for quote in _quotes(read, at, strips)]
    if not quotes:
        return abstain(("Nothing that answers the question.",))
    chosen = sorted(_choose(read, quotes), key=lambda quote: (quote.at, quote.start))
    return _answer(candidates, _merged(chosen))


def abstain(missing: Sequence[str]) -> Answer:
    """No answer, and why.

    ("Nothing on Orin Works.",) -> "The documents do not answer this. Nothing on Orin Works."
    """
    text = " ".join(["The documents do not answer this.", *missing])
    return Answer(text=text, abstained=True, missing=tuple(missing))


def _quotes(read: Read, at: int, strips: Mapping[str, Sequence[Strip]] | None) -> list[_Quote]:
    passage, candidate = read.passages[at], read.candidates[at]
    weights = rate_sentences(read.asked, passage, read.headings[at])
    allowed = None if strips is None else strips.get(candidate.id)
    score = min(1.0, max(0.0, candidate.score))
    found = []
    for place, sentence in enumerate(passage.sentences):
        if allowed is not None and not any(it.start <= sentence.start and sentence.end <= it.end for it in allowed):
            continue
        before = context_of(passage, place)
        start = passage.sentences[before[0]].start if before else sentence.start
        if sentence.end - start > LONGEST_QUOTE:
            start = sentence.start
        end = min(sentence.end, start + LONGEST_QUOTE)
        found.append(_Quote(at, start, end, weights[place] + RANK_SHARE * score))
    return found


def _choose(read: Read, quotes: Sequence[_Quote]) -> list[_Quote]:
    found = read.question.classification
    if found is not None and found.type is QueryType.GLOBAL:
        return _one_each(read, quotes)
    if found is not None and found.relation_hint is RelationHint.COMPARISON and len(read.asked.names) > 1:
        sides = [_best_on(read, quotes, name) for name in read.asked.names[:MAX_SENTENCES]]
        chosen = [side for side in sides if side is not None]
        return list(dict.fromkeys(chosen)) or _best(quotes)
    return _best(quotes)


def _best(quotes: Sequence[_Quote]) -> list[_Quote]:
    """The best sentence, and others that say nearly as much."""
    ranked = sorted(quotes, key=lambda quote: (-quote.weight, quote.at, quote.start))
    least = ranked[0].weight * ALSO_FROM
    return [quote for quote in ranked[:MAX_SENTENCES] if quote.weight >= least]


def _best_on(read: Read, quotes: Sequence[_Quote], name: Name) -> _Quote | None:
    """The best sentence about one side of a comparison, by itself or under a title that names it."""
    about = [quote for quote in quotes if _is_about(read, quote, name)]
    return max(about, key=lambda quote: (quote.weight, -quote.at, -quote.start), default=None)


def _is_about(read: Read, quote: _Quote, name: Name) -> bool:
    passage, heading = read.passages[quote.at], read.headings[quote.at]
    terms = frozenset().union(*(it.terms for it in _sentences_in(passage, quote)))
    text = passage.text[quote.start : quote.end].casefold()
    return max(name_presence(name, text, terms), name_presence(name, heading.plain, heading.terms)) >= 1.0


def _sentences_in(passage: Passage, quote: _Quote) -> list[Sentence]:
    return [it for it in passage.sentences if quote.start <= it.start < quote.end]


def _one_each(read: Read, quotes: Sequence[_Quote]) -> list[_Quote]:
    """The best sentence of each document, the documents in their order."""
    best: dict[str, _Quote] = {}
    for quote in quotes:
        candidate = read.candidates[quote.at]
        source = candidate.title or candidate.id
        if source not in best or quote.weight > best[source].weight:
            best[source] = quote
    return list(best.values())[:MAX_THEMES]


def _merged(quotes: Sequence[_Quote]) -> list[_Quote]:
    """Quotations in reading order, those that touch within a candidate as one."""
    merged: list[_Quote] = []
    for quote in quotes:
        last = merged[-1] if merged else None
        if last and last.at == quote.at and quote.start <= last.end + 1:
            merged[-1] = _Quote(last.at, last.start, max(last.end, quote.end), max(last.weight, quote.weight))
        else:
            merged.append(quote)
    return merged


def _answer(candidates: Sequence[Candidate], quotes: Sequence[_Quote]) -> Answer:
    citations = tuple(
        Citation(number=number, result_id=candidates[quote.at].id, start=quote.start, end=quote.end)
        for number, quote in enumerate(quotes, start=1)
    )
    sentences = tuple(
        AnswerSentence(text=_shown(candidates[quote.at].text[quote.start : quote.end]), citations=(number,))
        for number, quote in enumerate(quotes, start=1)
    )
    text = " ".join(f"{sentence.text} [{sentence.citations[0]}]" for sentence in sentences)
    return Answer(text=text, sentences=sentences, citations=citations, generated_by=EXTRACTIVE)


def _shown(text: str) -> str:
    """A quotation on one line."""
    return " ".join(text.split())
