"""Answer in the documents' own sentences, each with its citation; or say what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridrag.language.lines import silent_lines
from hybridrag.language.sentences import sentences
from hybridrag.protocols import Candidate, Question, Reading
from hybridrag.search.missing import NO_ANSWER, language_of
from hybridrag.search.read import Read, mentions, read_all
from hybridrag.types.answers import EXTRACTIVE, Answer, AnswerSentence, Citation, ShortAnswer
from hybridrag.types.queries import QueryType, RelationHint, Want

MAX_QUOTES = 3
"""Passages that an answer is quoted from."""

MAX_THEMES = 6
"""Documents that an overview is quoted from."""

ALSO_FROM = 0.6
"""A further passage is quoted when it holds the answer with at least this share of the best one's probability."""

GOES_ON = 3
"""Sentences quoted where a reason or a way to do it is asked for: those are rarely told in one."""

LONGEST_QUOTE = 600
"""Characters of one quotation; a table or a list without full stops is one sentence as long as its page."""


@dataclass(frozen=True, slots=True)
class _Quote:
    """Characters `start` to `end` of a candidate's text."""

    at: int
    start: int
    end: int


def extract_answer(question: Question, candidates: Sequence[Candidate], readings: Sequence[Reading]) -> Answer:
    """The stretch that answers, and the sentences that it stands in, each with its citation.

    "When was Orin Works founded?" -> short "1987", "Orin Works was founded in 1987. [1]"

    A comparison gets a sentence for every side, an overview one from each of several documents. Without anything to
    quote it is an abstention.
    """
    read = read_all(question, candidates)
    if question.classification is not None and question.classification.type is QueryType.GLOBAL:
        return _answer(candidates, _one_each(read), None)
    order = sorted((at for at, one in enumerate(readings) if one.end > one.start), key=lambda at: -readings[at].holds)
    if not order:
        return abstain(read)
    best = readings[order[0]]
    chosen = [at for at in order[:MAX_QUOTES] if readings[at].holds >= ALSO_FROM * best.holds]
    chosen += _sides(read, order, chosen)
    quotes = [_quote(read, at, readings[at]) for at in dict.fromkeys(chosen)]
    short = ShortAnswer(
        text=_shown(candidates[order[0]].text[best.start : best.end]), citation=1, start=best.start, end=best.end
    )
    return _answer(candidates, quotes, short)


def abstain(read: Read, missing: Sequence[str] = ()) -> Answer:
    """No answer, and why, in the question's language.

    ("Nothing was found on Orin Works.",) -> "The documents do not answer this. Nothing was found on Orin Works."
    """
    text = " ".join([NO_ANSWER[language_of(read)], *missing])
    return Answer(text=text, abstained=True, missing=tuple(missing))


def _sides(read: Read, order: Sequence[int], chosen: Sequence[int]) -> list[int]:
    """The best passage for every side of a comparison that those chosen say nothing of."""
    found = read.question.classification
    if found is None or found.relation_hint is not RelationHint.COMPARISON:
        return []
    lacking = [name for name in read.asked.names if not any(mentions(read, at, name) for at in chosen)]
    best = [next((at for at in order if mentions(read, at, name)), None) for name in lacking]
    return [at for at in best if at is not None]


def _quote(read: Read, at: int, reading: Reading) -> _Quote:
    """The sentence around the stretch; where a reason or a way is asked for, what follows it in its paragraph too."""
    text = read.candidates[at].text
    spans = sentences(text)
    first = max((place for place, (start, _) in enumerate(spans) if start <= reading.start), default=0)
    start, end = _after_headings(read, at, spans[first][0]), max(spans[first][1], reading.end)
    line = text.rfind("\n", 0, reading.start) + 1, (text + "\n").find("\n", reading.end)
    if " | " in text[line[0] : line[1]]:
        return _Quote(at, *line)  # a row of a table
    if read.asked.want in {Want.REASON, Want.MANNER}:
        paragraph = text.find("\n\n", end)
        limit = len(text) if paragraph < 0 else paragraph
        end = max([end, *(stop for _, stop in spans[first + 1 : first + GOES_ON] if stop <= limit)])
    if end - start > LONGEST_QUOTE:
        start = max(start, min(reading.start, end - LONGEST_QUOTE))
        end = min(end, max(start + LONGEST_QUOTE, reading.end))
    return _Quote(at, start, end)


def _one_each(read: Read) -> list[_Quote]:
    """The first sentence of each document's best passage that is no heading, the documents in their order."""
    found: dict[str, _Quote] = {}
    for at, candidate in enumerate(read.candidates):
        source = candidate.title or candidate.id
        if source in found or len(found) == MAX_THEMES:
            continue
        for begin, end in sentences(candidate.text):
            start = _after_headings(read, at, begin)
            if start < end:
                found[source] = _Quote(at, start, min(end, start + LONGEST_QUOTE))
                break
    return list(found.values())


def _after_headings(read: Read, at: int, start: int) -> int:
    """Where what follows begins, past headings and the question itself."""
    candidate = read.candidates[at]
    for first, after in silent_lines(candidate.text, (read.question.text, candidate.title, *candidate.headings)):
        if first <= start < after:
            start = after
    return start


def _answer(candidates: Sequence[Candidate], quotes: Sequence[_Quote], short: ShortAnswer | None) -> Answer:
    citations = tuple(
        Citation(number=number, result_id=candidates[quote.at].id, start=quote.start, end=quote.end)
        for number, quote in enumerate(quotes, start=1)
    )
    said = tuple(
        AnswerSentence(text=_shown(candidates[quote.at].text[quote.start : quote.end]), citations=(number,))
        for number, quote in enumerate(quotes, start=1)
    )
    text = " ".join(f"{sentence.text} [{sentence.citations[0]}]" for sentence in said)
    return Answer(text=text, short=short, sentences=said, citations=citations, generated_by=EXTRACTIVE)


def _shown(text: str) -> str:
    """A quotation on one line."""
    return " ".join(text.split())
