"""Answer in the documents' own sentences, each with its citation; or say what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridrag.answers.quote import Quoted, Span, complete, prose, quote, shown, within_block
from hybridrag.answers.yes_no import YES_NO, say_yes_no
from hybridrag.language.detect import detect
from hybridrag.language.lines import silent_lines
from hybridrag.protocols import Question, Reading
from hybridrag.search.missing import NO_ANSWER, language_of
from hybridrag.search.passages import Read, mentions, presence, read_all
from hybridrag.types.answers import EXTRACTIVE, Answer, AnswerSentence, Citation, ShortAnswer
from hybridrag.types.queries import QueryType, Want
from hybridrag.types.results import Hit

MAX_QUOTES = 3
"""Passages that an answer is quoted from."""

MAX_THEMES = 6
"""Documents that an overview is quoted from."""

ALSO_FROM = 0.5
"""A further passage is quoted when it answers with at least this share of the best one's probability."""


ALIKE_FROM = 0.97
"""From this share on two passages answer alike."""


@dataclass(frozen=True, slots=True)
class _Quote:
    """What is quoted of one candidate."""

    at: int
    quoted: Quoted
    about: str | None = None


def extract_answer(question: Question, candidates: Sequence[Hit], readings: Sequence[Reading]) -> Answer:
    """The stretch that answers, and the sentences that it stands in, each with its citation.

    "When was Orin Works founded?" -> short "1987", "Orin Works was founded in 1987. [1]"

    Of the passages read, the one that both bears on the question and holds the answer most probably comes first. A
    comparison or relation gets a quotation for every side or step, an overview one from each of several documents.
    Without anything to quote it is an abstention.
    """
    read = read_all(question, candidates)
    if question.type is QueryType.GLOBAL:
        return _answer(candidates, _one_each(read)) or abstain(read)
    worth = [(one.holds * one.relevance) ** 0.5 if one.end > one.start else 0.0 for one in readings]
    best = max(worth, default=0.0)
    # Of passages that say the same in two languages, the one in the question's is quoted.
    ours = [detect(candidate.text) == read.question.language for candidate in candidates]
    order = sorted(
        (at for at, value in enumerate(worth) if value),
        key=lambda at: (worth[at] < ALIKE_FROM * best or not ours[at], -worth[at]),
    )
    chosen: dict[int, str | None] = {at: None for at in order[:MAX_QUOTES] if worth[at] >= ALSO_FROM * best}
    chosen |= {at: name for at, name in _sides(read, order, list(chosen)) if at not in chosen}
    quotes: dict[str, _Quote] = {}
    for at, about in chosen.items():
        quoted = _quote(read, at, readings[at])
        if quoted is not None:
            quotes.setdefault(quoted.shown, _Quote(at, quoted, about))
    said = _answer(candidates, list(quotes.values()))
    if said is None:
        return abstain(read)
    first = next(iter(quotes.values()))
    short = _short(read, first, readings[first.at])
    yes_no = say_yes_no(question.text, short.text) if short and question.asks_yes_no else None
    text = said.text if yes_no is None else f"{YES_NO[language_of(read)][yes_no]} {said.text}"
    return said.model_copy(update={"text": text, "short": short, "yes_no": yes_no})


def abstain(read: Read, missing: Sequence[str] = ()) -> Answer:
    """No answer, and why, in the question's language.

    ("Nothing was found on Orin Works.",) -> "The documents do not answer this. Nothing was found on Orin Works."
    """
    text = " ".join([NO_ANSWER[language_of(read)], *missing])
    return Answer(text=text, abstained=True, missing=tuple(missing))


def _sides(read: Read, order: Sequence[int], chosen: Sequence[int]) -> list[tuple[int, str]]:
    """The best passage for every name of a comparison or relation that those chosen say nothing of."""
    if read.question.type is not QueryType.RELATIONSHIP:
        return []
    lacking = [name for name in read.question.names if not any(mentions(read, at, name) for at in chosen)]
    best = [(next((at for at in order if mentions(read, at, name)), None), name.text) for name in lacking]
    return [(at, name) for at, name in best if at is not None]


def _silent(read: Read, at: int) -> list[Span]:
    candidate = read.candidates[at]
    return silent_lines(candidate.text, (read.question.text, candidate.title, *candidate.headings))


def _stretch(read: Read, at: int, reading: Reading) -> Span:
    return within_block(read.candidates[at].text, (reading.start, reading.end), _silent(read, at))


def _quote(read: Read, at: int, reading: Reading) -> Quoted | None:
    goes_on = read.question.want in {Want.REASON, Want.MANNER}
    return quote(read.candidates[at].text, _stretch(read, at, reading), silent=_silent(read, at), goes_on=goes_on)


def _short(read: Read, first: _Quote, reading: Reading) -> ShortAnswer | None:
    """The stretch, completed; None where it stands in a question and what follows that is quoted."""
    text, quoted = read.candidates[first.at].text, first.quoted
    clause = read.question.want in {Want.REASON, Want.MANNER} or read.question.asks_yes_no
    start, end = complete(text, _stretch(read, first.at, reading), clause=clause)
    start, end = max(start, quoted.start), min(end, quoted.end)
    if start >= end:
        return None
    return ShortAnswer(text=" ".join(text[start:end].split()), citation=1, start=start, end=end)


def _one_each(read: Read) -> list[_Quote]:
    """Of each document's best passage the sentence that says most of the question, the documents in their order."""
    found: dict[str, _Quote] = {}
    for at, candidate in enumerate(read.candidates):
        source = candidate.title or candidate.id
        if source in found or len(found) == MAX_THEMES:
            continue
        spans = prose(candidate.text, _silent(read, at))
        if spans:
            terms = {one.start: one.terms for one in read.passages[at].sentences}
            asked = read.question
            rated = [asked.coverage(presence(asked.terms, terms.get(start, frozenset()))) for start, _ in spans]
            start, end = spans[rated.index(max(rated))]
            quoted = Quoted(start, end, shown(candidate.text[start:end]).lstrip("-*+•・ "))
            found[source] = _Quote(at, quoted, candidate.title or None)
    return list(found.values())


def _answer(candidates: Sequence[Hit], quotes: Sequence[_Quote]) -> Answer | None:
    if not quotes:
        return None
    citations = tuple(
        Citation(number=number, result_id=candidates[one.at].id, start=one.quoted.start, end=one.quoted.end)
        for number, one in enumerate(quotes, start=1)
    )
    sentences = tuple(
        AnswerSentence(text=one.quoted.shown, citations=(number,), about=one.about)
        for number, one in enumerate(quotes, start=1)
    )
    lines = any(one.about or "\n" in one.text for one in sentences)
    cited = [_cited(sentence, verbatim=one.quoted.verbatim) for sentence, one in zip(sentences, quotes, strict=True)]
    text = ("\n" if lines else " ").join(cited)
    return Answer(text=text, sentences=sentences, citations=citations, generated_by=EXTRACTIVE)


def _cited(sentence: AnswerSentence, *, verbatim: bool) -> str:
    """A sentence with its number, which stands before lines of code or of a list and not among them."""
    about = f"{sentence.about}: " if sentence.about else ""
    number = f" [{sentence.citations[0]}]"
    first, *rest = sentence.text.split("\n", 1) if verbatim else [sentence.text]
    return about + "\n".join([first + number, *rest])
