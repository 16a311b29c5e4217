"""Read a question once, for every stage: what it asks, of what kind, in which words, written with which operators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache

from hybridrag.language.detect import detect
from hybridrag.language.normalise import fold, normalise
from hybridrag.language.tokenise import query_terms
from hybridrag.language.words import keywords
from hybridrag.protocols import Question
from hybridrag.queries.classify import classify
from hybridrag.queries.statement import is_statement
from hybridrag.queries.wants import wanted
from hybridrag.queries.words import english, japanese
from hybridrag.queries.yes_no import asks_yes_no
from hybridrag.types.queries import QueryClassification, QueryType
from hybridrag.types.terms import Name, Operators, QueryTerm

USUAL_RARITY = 4.0
"""The idf of a term that nothing is known about: about one in fifty passages has it."""

LEAST_RARITY = 0.1
"""A word that every passage has still counts a little."""

ASKED_SHARE = 0.3
"""How much `year` counts in "which year": the answer is a year, and need not say so."""

_REMEMBERED = 256
_ASKED_ENGLISH = ("times", "amounts", "places", "people", "abstract", "transparent", "measures")
_ASKED_JAPANESE = ("counters", "people", "places", "amounts", "transparent", "formal_nouns")

_ASKS_WHAT = re.compile(
    r"(?:who|what)(?:'s|\s+is|\s+are|\s+was|\s+were)\s+(?:the\s+|an?\s+)?(?P<en>.+?)\s*[?？.!]*"
    r"|(?:tell me about|describe|explain|define)\s+(?:the\s+|an?\s+)?(?P<tell>.+?)\s*[?？.!]*"
    r"|(?P<ja>.+?)(?:とは(?:何(?:ですか|か)?|誰(?:ですか|か)?|なん(?:ですか)?)?|って(?:何|誰|なに)(?:ですか)?|"
    r"について(?:教えて(?:ください)?|説明して(?:ください)?)?|(?:は|とは)?(?:何|誰|どんな人)(?:ですか|でしょうか|か)|は)"
    r"\s*[?？。]*",
    re.IGNORECASE,
)


def read_question(
    text: str, classification: QueryClassification | None = None, *, operators: Operators | None = None
) -> Question:
    """Everything that the stages ask of a question; without a classification, the rules classify it.

    "When was Orin Works founded?" -> type local, wants a date, names [Orin Works], terms orin, work, found

    `operators` are those that the query was written with; `text` is then its words.
    """
    found = classification or classify(text)
    terms = tuple(dict.fromkeys(term._replace(start=0, end=0) for term in query_terms(text)))
    if found.type is QueryType.GLOBAL:
        terms = tuple(term for term in terms if term.term not in _general_terms())
    question = Question(
        text,
        found,
        language=detect(text),
        want=wanted(text),
        names=tuple(_name(name) for name in found.extracted_entities),
        terms=terms,
        is_statement=is_statement(text),
        topic=topic_words(text),
        asks_what_it_is=_asks_what_it_is(text, found),
        asks_yes_no=asks_yes_no(text),
        operators=operators,
    )
    return weighed(question, {})


def weighed(question: Question, rarity: Mapping[str, float]) -> Question:
    """The question with its terms weighed by their idf in the corpus, less where one names what is asked for."""
    return replace(question, rarity=rarity, weights=tuple(_weight(term, rarity) for term in question.terms))


def topic_words(text: str) -> tuple[str, ...]:
    """The words that say what of the whole a question wants; none where it wants all of it.

    "What are the main risks?" -> risks; "Summarise the meeting." -> (); 「全体をまとめてください」 -> ()
    """
    general = english("general") | japanese("general")
    return tuple(word.casefold() for word in keywords(text) if word.casefold() not in general)


def _asks_what_it_is(text: str, classification: QueryClassification) -> bool:
    """Whether a question is one bare name, or asks who or what one name is.

    "Ann Lee" -> True; "犬吠埼灯台とは" -> True; "Who is Ann Lee?" -> True; "Who is the mother of Ann Lee?" -> False
    """
    if classification.type is QueryType.GLOBAL or len(classification.extracted_entities) != 1:
        return False
    name = fold(classification.extracted_entities[0]).strip()
    asked = fold(text).strip()
    match = _ASKS_WHAT.fullmatch(asked)
    bare = {asked.strip(" ?？。.!")}
    if match is not None:
        bare.update(part.strip() for part in match.groups() if part)
    return name in bare


def _weight(term: QueryTerm, rarity: Mapping[str, float]) -> float:
    known = rarity.get(term.term)
    if known is None:
        known = max((rarity[part] for part in term.words() if part in rarity), default=USUAL_RARITY)
    share = ASKED_SHARE if term.term in _asked_terms() else 1.0
    return max(LEAST_RARITY, known) * share


@lru_cache(maxsize=_REMEMBERED)
def _name(text: str) -> Name:
    return Name(text, normalise(text).casefold(), tuple(query_terms(text)))


@cache
def _asked_terms() -> frozenset[str]:
    """Terms that name what is asked for, as the language layer writes them."""
    return _terms(english(*_ASKED_ENGLISH) | japanese(*_ASKED_JAPANESE))


@cache
def _general_terms() -> frozenset[str]:
    """Terms that every collection has to do with: no passage has to say them."""
    return _terms(english("general") | japanese("general"))


def _terms(words: frozenset[str]) -> frozenset[str]:
    return frozenset(term.term for word in words for term in query_terms(word))
