"""Read a question and the passages found for it once, for every check that follows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from hybridrag.language.analyse import Text, analyse
from hybridrag.language.detect import detect
from hybridrag.language.normalise import normalise
from hybridrag.language.sentences import sentences
from hybridrag.language.tokenise import QueryTerm, query_terms
from hybridrag.protocols import Question
from hybridrag.search.wants import Find, Want, find_kind, wanted
from hybridrag.types.queries import QueryType
from hybridrag.types.results import Hit

MAX_CHARACTERS = 6_000
"""How much of a passage is read; a chunk is far shorter, and what a caller hands in may be a whole book."""

_REMEMBERED = 256
"""Passages kept: the same ones are judged, refined and quoted one after the other."""

USUAL_RARITY = 4.0
"""The idf of a term that nothing is known about: about one in fifty passages has it."""

LEAST_RARITY = 0.1
"""A word that every passage has still counts a little."""

ASKED_SHARE = 0.3
"""How much `year` counts in "which year": the answer is a year, and need not say so."""


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_ASKED_NOUNS = _words(
    """
    year date day month century decade mani much old long countri citi state region town place name person peopl number
    percentag amount type kind call known mean whi
    年 月 日 人 国 都市 場所 名前 名称 理由 方法 何年 何人 何歳 何回 種類 意味 呼ぶ
    """
)
"""As the language layer writes them."""

_THEME_WORDS = _words(
    """
    main theme topic overal summari overview trend document file text corpus discuss common key issu point subject
    general gener content materi cover recur whole entir across pattern report articl tell say about major import
    主 主要 テーマ 主題 全体 概要 要約 纏める 傾向 文書 資料 共通 話題 内容 特徴 トピック 論点 記事 ドキュメント
    ファイル 大きい 全部 主に 述べる 書く 扱う 重要 ポイント 概観 全般
    """
)
"""What a question about the whole says of every collection: no passage has to say it."""

_QUOTED = re.compile('["“「『]([^"”」』]{2,60})["”」』]')
_CAPITALISED = re.compile(r"(?<!^)(?<![.!?]\s)\b[A-Z][\w'’.-]*(?:\s+(?:of\s+|the\s+|de\s+)?[A-Z][\w'’.-]*)*")
_KATAKANA = re.compile("[ァ-ヴー]{3,}(?:・[ァ-ヴー]+)*")


def plain(text: str) -> str:
    """A text as names are looked for in it: normalised, in lower case."""
    return normalise(text).casefold()


class Sentence(NamedTuple):
    """A sentence `text[start:end]` of a passage, with the terms in it."""

    start: int
    end: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, read."""

    text: str
    plain: str
    terms: frozenset[str]
    sentences: tuple[Sentence, ...]
    analysed: Text
    """As the language layer sees it."""
    found: dict[Want, tuple[Find, ...]] = field(default_factory=dict, compare=False)
    """What `finds` has found so far: only what is asked for is looked for."""

    def finds(self, want: Want) -> tuple[Find, ...]:
        """The dates, numbers, names or the like in the text, in its order."""
        known = self.found.get(want)
        if known is None:
            normal, units, _ = self.analysed
            places = {normal.span(find.start, find.end) for find in find_kind(want, normal.text, units)}
            known = self.found[want] = tuple(Find(want, start, end) for start, end in sorted(places))
        return known


@dataclass(frozen=True, slots=True)
class Name:
    """A name in the question, and the terms that make it."""

    text: str
    plain: str
    terms: tuple[QueryTerm, ...]

    @property
    def terms_alone(self) -> tuple[str, ...]:
        """Every spelling of its words."""
        return tuple(spelling for term in self.terms for spelling in (term.term, *term.parts))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read."""

    text: str
    plain: str
    terms: tuple[QueryTerm, ...]
    weights: tuple[float, ...]
    """How much each term says: its rarity, less for the noun that names what is asked for."""
    names: tuple[Name, ...]
    want: Want
    language: str

    def coverage(self, there: Iterable[float]) -> float:
        """The share of what the question says, by weight, given how far each term is there."""
        total = sum(self.weights)
        if not total:
            return 0.0
        return sum(weight * share for weight, share in zip(self.weights, there, strict=True)) / total


def read_question(question: Question) -> Asked:
    """What a question says and wants.

    "When was Orin Works founded?" -> terms orin, work, found; names Orin Works; wants a date
    """
    text = question.text
    terms = tuple(dict.fromkeys(term._replace(start=0, end=0) for term in query_terms(text)))
    if is_theme(question):
        terms = tuple(term for term in terms if term.term not in _THEME_WORDS)
    return Asked(
        text=text,
        plain=plain(text),
        terms=terms,
        weights=tuple(_weight(term, question.rarity) for term in terms),
        names=tuple(_name(name) for name in names_of(question)),
        want=wanted(text),
        language=detect(text),
    )


def is_theme(question: Question) -> bool:
    """Whether the question asks for the whole: themes, trends, an overview."""
    return question.classification is not None and question.classification.type is QueryType.GLOBAL


def _weight(term: QueryTerm, rarity: Mapping[str, float]) -> float:
    known = rarity.get(term.term)
    if known is None:
        parts = [rarity[part] for part in term.words() if part in rarity]
        known = max(parts, default=USUAL_RARITY)
    share = ASKED_SHARE if term.term in _ASKED_NOUNS else 1.0
    return max(LEAST_RARITY, known) * share


def names_of(question: Question) -> list[str]:
    """The names in a question: the classifier's, or what is quoted, capitalised or in katakana."""
    if question.classification is not None:
        return list(question.classification.extracted_entities)
    found = [match[1] for match in _QUOTED.finditer(question.text)]
    found += [match[0] for pattern in (_CAPITALISED, _KATAKANA) for match in pattern.finditer(question.text)]
    return list(dict.fromkeys(found))


@lru_cache(maxsize=_REMEMBERED)
def _name(text: str) -> Name:
    return Name(text, plain(text), tuple(query_terms(text)))


@lru_cache(maxsize=_REMEMBERED)
def read_passage(text: str) -> Passage:
    """The terms, sentences and finds of a passage; offsets count in the text as given.

    "Orin Works was founded in 1987." -> one sentence; terms orin, work, found, 1987; a date
    """
    text = text[:MAX_CHARACTERS]
    analysed = analyse(text)
    normal, units, extras = analysed
    spans = sentences(text)
    starts = [start for start, _ in spans]
    grouped: list[set[str]] = [set() for _ in spans]
    for at, unit in units:
        sentence = _place(starts, normal.starts[at])
        for part in unit.parts:
            grouped[sentence].add(part.term)
    for extra in extras:
        grouped[_place(starts, normal.starts[extra.start])].add(extra.term)
    return Passage(
        text=text,
        plain=normal.text.casefold(),
        terms=frozenset().union(*grouped),
        sentences=tuple(
            Sentence(start, end, frozenset(terms)) for (start, end), terms in zip(spans, grouped, strict=True)
        ),
        analysed=analysed,
    )


def _place(starts: list[int], at: int) -> int:
    return max(0, bisect_right(starts, at) - 1)


def read_heading(candidate: Hit) -> Passage:
    """The title and headings above a candidate, read as one passage."""
    return read_passage(" \n".join(filter(None, (candidate.title, *candidate.headings))))


def presence(terms: Iterable[QueryTerm], *places: frozenset[str]) -> list[float]:
    """How far each term is in the places taken together: 1 as such, a share by its parts, 0 not at all.

    [国際標準化機構] in {国際, 機構} -> [0.5 × PARTS_SHARE]
    """
    return [_present(term, places) for term in terms]


@dataclass(frozen=True, slots=True)
class Read:
    """A question and its candidates, read."""

    question: Question
    asked: Asked
    candidates: Sequence[Hit]
    passages: Sequence[Passage]
    headings: Sequence[Passage]


def read_all(question: Question, candidates: Sequence[Hit]) -> Read:
    """Read the question and every candidate."""
    return Read(
        question,
        read_question(question),
        candidates,
        [read_passage(candidate.text) for candidate in candidates],
        [read_heading(candidate) for candidate in candidates],
    )


def best_sentence(asked: Asked, passage: Passage, heading: Passage) -> int:
    """The place of the sentence that says most of the question, its title counted in; of equal ones the first."""
    rated = [asked.coverage(presence(asked.terms, one.terms, heading.terms)) for one in passage.sentences]
    return rated.index(max(rated)) if rated else 0


NAME_THERE = 0.5
"""From this share of its words on, a name counts as found: a person by the family name alone."""


def mentions(read: Read, at: int, name: Name) -> bool:
    """Whether a candidate or what stands above it holds a name."""
    passage, heading = read.passages[at], read.headings[at]
    return name_presence(name, f"{passage.plain}\n{heading.plain}", passage.terms, heading.terms) >= NAME_THERE


PARTS_SHARE = 0.8
"""What all parts of a compound count without the compound itself: they may stand apart."""


def _present(term: QueryTerm, places: tuple[frozenset[str], ...]) -> float:
    # Plain loops: a judgement asks this some seven hundred times.
    for place in places:
        if term.term in place:
            return 1.0
    for spelling in term.others:
        for place in places:
            if spelling in place:
                return 1.0
    if not term.parts:
        return 0.0
    there = sum(any(part in place for place in places) for part in term.parts)
    return PARTS_SHARE * there / len(term.parts)


def name_presence(name: Name, within: str, *places: frozenset[str]) -> float:
    """How far a name is in a text: 1 as written, else the share of its words."""
    if name.plain in within:
        return 1.0
    there = presence(name.terms, *places)
    return sum(there) / len(there) if there else 0.0


def new_finds(asked: Asked, passage: Passage, want: Want | None = None) -> list[Find]:
    """What a passage holds of the wanted kind and the question does not hold itself; of another kind, all of it."""
    if want not in {None, asked.want}:
        return list(passage.finds(want))
    finds = passage.finds(asked.want)
    return [find for find in finds if passage.text[find.start : find.end].casefold() not in asked.plain]


def kind_flags(asked: Asked, passage: Passage) -> list[bool]:
    """For each sentence, whether it holds something new of the wanted kind."""
    starts = [find.start for find in new_finds(asked, passage)]
    return [any(sentence.start <= start < sentence.end for start in starts) for sentence in passage.sentences]
