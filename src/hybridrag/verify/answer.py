"""Answer in the documents' own sentences, each with its citation; or say what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.protocols import Candidate, Question
from hybridrag.types.answers import EXTRACTIVE, Answer, AnswerSentence, Citation
from hybridrag.types.queries import QueryType, RelationHint
from hybridrag.verify.features import Read, plain_title, read_all
from hybridrag.verify.read import Name, Passage, Sentence, kind_flags, name_presence, plain, presence
from hybridrag.verify.refine import Strip, context_of, rate_sentences

MAX_SENTENCES = 3
"""Sentences of an answer to a question for a fact."""

MAX_THEMES = 5
"""Sentences of an overview: one from each of so many documents."""

ALSO_FROM = 0.85
"""A further sentence is quoted when it says at least this share of what the best one says."""

RANK_SHARE = 0.15
"""How much the candidate's own score adds to a sentence: of two alike the one in the better passage is quoted."""

KIND_SHARE = 0.5
"""What a date counts where one is asked for, beside the words of the question: an answer need not repeat those."""

SHORTEST_TITLE = 2
"""Characters of a title that can be looked for in a text."""

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
    if found is not None and found.type is QueryType.RELATIONSHIP:
        return list(dict.fromkeys([*_chain(read, quotes), *_best(quotes)]))[:MAX_SENTENCES]
    return _best(quotes)


def _chain(read: Read, quotes: Sequence[_Quote]) -> list[_Quote]:
    """A sentence that leads from what the question names to another document, and what that says of what is asked for.

    "Where was the designer of the tower born?" -> "The tower was designed by Ann Lee.", then under Ann Lee "She was
    born in Bath."; none where no sentence names another candidate.
    """
    asked = read.asked
    titles = [plain_title(candidate.title) for candidate in read.candidates]
    best: tuple[float, list[_Quote]] = (0.0, [])
    for link in quotes:
        text = plain(read.passages[link.at].text[link.start : link.end])
        for at, title in enumerate(titles):
            if titles[link.at] == title or len(title) < SHORTEST_TITLE or title in asked.plain or title not in text:
                continue
            target = max(
                (quote for quote in quotes if quote.at == at),
                key=lambda quote: (_says_asked(read, quote), -quote.start),
                default=None,
            )
            if target is not None and link.weight + _says_asked(read, target) > best[0]:
                best = (link.weight + _says_asked(read, target), [link, target])
    return best[1]


def _says_asked(read: Read, quote: _Quote) -> float:
    """How much a quotation says of what is asked for, whomever it is asked of: the kind of thing, and its words."""
    asked, passage = read.asked, read.passages[quote.at]
    named = frozenset(term for name in asked.names for term in name.terms_alone)
    attributes = [float(term.term not in named) for term in asked.terms]
    inside = [at for at, it in enumerate(passage.sentences) if quote.start <= it.start < quote.end]
    terms = frozenset().union(*(passage.sentences[at].terms for at in inside))
    kinds = kind_flags(asked, passage)
    return asked.partial(presence(asked.terms, terms), attributes) + KIND_SHARE * any(kinds[at] for at in inside)


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
