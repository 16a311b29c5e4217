"""A name in its sentence -> what kind of thing it names, by cues alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from hybridrag.graph.mentions import AliasRecord, Mention
from hybridrag.graph.words import (
    CONNECTORS,
    COUNTRIES,
    DEMONYMS,
    EVENT_HEADS,
    EVENT_ROLES,
    LEGAL_FORMS,
    OFFICES,
    ORGANISATION_HEADS,
    ORGANISATION_ROLES,
    PARTICLES,
    PERSON_ROLES,
    PERSON_TITLES,
    PERSON_VERBS,
    PLACE_HEADS,
    PLACE_PREPOSITIONS,
    PLACE_ROLES,
    PRODUCT_ROLES,
    STYLES,
    WORK_HEADS,
    WORK_ROLES,
    word_set,
)
from hybridrag.types.graph import EntityType


class Guess(NamedTuple):
    """A type, and how good the cue was."""

    type: EntityType
    strength: int


FORM = 3
"""The name says it itself: University, Inc., River."""
SAID = 2
"""The sentence says it: "the film X", "X, a singer"."""
HINTED = 1
"""The sentence leans that way: "in X"."""
NOTHING = 0
UNKNOWN = Guess(EntityType.OTHER, NOTHING)


def with_guess(mention: Mention, guess: Guess | None) -> Mention:
    """The mention with that type; as it is where nothing is known."""
    if guess is None or not guess.strength:
        return mention
    return replace(mention, type=guess.type, type_strength=guess.strength)


def share_between_aliases(guesses: dict[str, Guess], records: Iterable[AliasRecord]) -> None:
    """Give both names of an alias the better guess of the two."""
    for record in records:
        pair = (record.name_key, record.alias_key)
        better = max((guesses.get(key, UNKNOWN) for key in pair), key=lambda guess: guess.strength)
        if better.strength:
            guesses.update(dict.fromkeys(pair, better))


_ROLES = (
    (EntityType.PERSON, PERSON_ROLES),
    (EntityType.WORK, WORK_ROLES),
    (EntityType.ORGANISATION, ORGANISATION_ROLES),
    (EntityType.PLACE, PLACE_ROLES),
    (EntityType.EVENT, EVENT_ROLES),
    (EntityType.PRODUCT, PRODUCT_ROLES),
)
ROLE_TYPES = {word: type_ for type_, words in reversed(_ROLES) for word in words}
"""A lower-case noun beside a name -> what the name is."""

_HEADS = (
    (EntityType.EVENT, EVENT_HEADS),
    (EntityType.WORK, WORK_HEADS),
    (EntityType.PLACE, PLACE_HEADS),
    (EntityType.ORGANISATION, ORGANISATION_HEADS),
)
HEAD_TYPES = {word: type_ for type_, words in _HEADS for word in words}
"""The noun at the heart of a name -> what the name is; a word of two lists is an organisation."""

_WORDS = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
_BEFORE = 40  # characters: about five words
_AFTER = 110  # characters: the noun phrase after a copula
_INITIALS = re.compile(r"(?:^|\s)[A-Z]\.?(?=\s)")
_BORN = re.compile(
    r"\s*,?\s*\(?\s*(?:born|died|b\.|d\.|née)\b|\s*\((?:[^()]{0,40}\D)?1\d{3}\s?[–-]\s?(?:[^()]{0,30}\D)?[12]\d{3}\)"
)
_ADDRESSED = re.compile(r"\s*<[^<>\s]+@[^<>\s]+>|[-‐](?:san|sama|kun|chan|sensei)\b")
_CODE = re.compile(r"(?=\D*\d)(?=[^A-Z]*[A-Z])[A-Z0-9]+(?:[-./_][A-Za-z0-9]+)*")
_IS_A = re.compile(
    r"\s*(?:\([^()]{0,80}\))?(?:\s+(?:is|was|are|were|became|remains)|,)\s+(?:also\s+)?(?:an?|the|one\s+of\s+the)\s+"
)
_PHRASE_ENDS = word_set(
    "of in by who that which from for with at on to as whose where when based located written directed produced "
    "released published set founded formed born known created made"
)
_PLACE_FIRST = word_set(
    "mount lake fort cape port north south east west upper lower san santa los las northern southern"
)
_SURE_PREPOSITIONS = word_set("in near")
_TO = word_set("to from")  # people stand behind these as often as places
_DIRECTIONS = word_set("north south east west northeast northwest southeast southwest outskirts parts part side")
_STAGE = word_set("starred appeared role roles debut featured acted seen performed part song songs")
_PERSON_STYLES = STYLES - word_set("brother sister father count major general")


def guess_english(text: str, start: int, end: int, *, small: frozenset[str] = frozenset()) -> Guess:
    """The best guess for `text[start:end]` in its place; `small` are words that stand elsewhere without a capital.

    "University of Tokyo" -> (organisation, FORM), "the film Wet Blanket" -> (work, SAID), "to Guri" -> (place, HINTED)
    """
    name = text[start:end]
    words = [word.lower() for word in _WORDS.findall(name)]
    before = _WORDS.findall(text[max(0, start - _BEFORE) : start])[-3:]
    if not words:
        return UNKNOWN
    touching = text[start - 1 : start].isspace() or text[start - 1 : start] in {'"', "“"}
    cues = before if touching else []
    for guess in (
        _by_role_before(cues),
        _by_form(name, words),
        _by_word_before(words, cues),
        _by_birth(text, end),
        _by_address(text, end, before),
        _by_phrase(text, end, before),
        _by_word_after(text, end, before),
    ):
        if guess.strength:
            return guess
    return _by_hint(text, words, before, start, end, small)


def _by_role_before(before: list[str]) -> Guess:
    """By the noun that it stands behind: "the film Toy House"."""
    role = ROLE_TYPES.get(before[-1]) if before else None
    return Guess(role, SAID) if role else UNKNOWN


def _by_form(name: str, words: list[str]) -> Guess:
    if len(words) == 1:
        closed = words[0] in DEMONYMS or words[0] in COUNTRIES or (words[0].endswith("s") and words[0][:-1] in DEMONYMS)
        return Guess(EntityType.PLACE, FORM) if closed else UNKNOWN
    if words[-1] in LEGAL_FORMS:
        return Guess(EntityType.ORGANISATION, FORM)
    if words[-1] in {"jr", "sr"} or _INITIALS.search(name):
        return Guess(EntityType.PERSON, FORM)
    head = _head(words)
    if head in HEAD_TYPES:
        return Guess(HEAD_TYPES[head], FORM)
    return _by_first_word(words)


def _head(words: list[str]) -> str:
    """The noun that a name turns on: before "of", or at its end."""
    if "of" in words[1:]:
        return words[words.index("of", 1) - 1]
    last = words[-2] if words[-1].isdecimal() else words[-1]
    return last if last in HEAD_TYPES else last.removesuffix("s")


def _by_first_word(words: list[str]) -> Guess:
    if words[0] in _PLACE_FIRST or words == ["united", "kingdom"] or words[-1] in COUNTRIES:
        return Guess(EntityType.PLACE, FORM)
    if words[0] in _PERSON_STYLES or ("of" in words and words[words.index("of") - 1] in STYLES):
        return Guess(EntityType.PERSON, FORM)
    return UNKNOWN


def _by_word_before(words: list[str], before: list[str]) -> Guess:
    """By what stands before: "President X", "the film X", "the city of X", "in X"."""
    if not before:
        return UNKNOWN
    last, second = before[-1], before[-2] if len(before) > 1 else ""
    if last.lower() in PERSON_TITLES or (last.lower() in OFFICES and last[0].isupper()):
        return Guess(EntityType.PERSON, FORM)
    if last in {"named", "called"} and second in ROLE_TYPES:
        return Guess(ROLE_TYPES[second], SAID)
    if (last == "of" and (second in PLACE_ROLES or second in _DIRECTIONS)) or (
        last in _SURE_PREPOSITIONS and len(words) <= 2
    ):
        return Guess(EntityType.WORK if second in _STAGE else EntityType.PLACE, SAID)
    return UNKNOWN


def _by_birth(text: str, end: int) -> Guess:
    return Guess(EntityType.PERSON, SAID) if _BORN.match(text, end) else UNKNOWN


def _by_address(text: str, end: int, before: list[str]) -> Guess:
    """As people write to one another: "Ann Lee <ann@example.org>", "Dear Ann", "Ann-san"."""
    written_to = bool(before) and before[-1] in {"Dear", "Hi", "Hello"}
    return Guess(EntityType.PERSON, SAID) if written_to or _ADDRESSED.match(text, end) else UNKNOWN


def _by_phrase(text: str, end: int, before: list[str]) -> Guess:
    """By what it is said to be: "X is a singer", "X, the capital of Y"."""
    said = _IS_A.match(text, end)
    if not said or (before and before[-1] in PLACE_PREPOSITIONS):
        return UNKNOWN
    role = _role_in(text[said.end() : said.end() + _AFTER])
    return Guess(role, SAID) if role else UNKNOWN


def _by_word_after(text: str, end: int, before: list[str]) -> Guess:
    """By what stands after: "X said", "the X region"."""
    after = _WORDS.findall(text[end : end + 30])[:2]
    if not after or not text[end : end + 1].isspace():
        return UNKNOWN
    verb = after[1] if after[0] in {"also", "later"} and len(after) > 1 else after[0]
    if verb in PERSON_VERBS:
        return Guess(EntityType.PERSON, SAID)
    role = ROLE_TYPES.get(after[0])
    if before and before[-1] in {"the", "The"} and role and role is not EntityType.PERSON:
        return Guess(role, SAID)
    return UNKNOWN


def _role_in(phrase: str) -> EntityType | None:
    """What the noun phrase is about: its last role before "of", "who" or a comma."""
    found: EntityType | None = None
    for word in re.split(r"[,.;()]", phrase, maxsplit=1)[0].split()[:12]:
        low = word.lower().strip("\"'“”")
        if low in _PHRASE_ENDS:
            break
        found = ROLE_TYPES.get(low.rpartition("-")[2], found)
    return found


def _by_hint(text: str, words: list[str], before: list[str], start: int, end: int, small: frozenset[str]) -> Guess:
    last = before[-1] if before else ""
    telling = [word for word in words if word not in PARTICLES]
    if last in PLACE_PREPOSITIONS and text[start - 1 : start] == " " and len(telling) <= (1 if last in _TO else 2):
        return Guess(EntityType.PLACE, HINTED)
    listed = text[start - 2 : start] == ", " and last[:1].isupper() and text[end : end + 1] in {",", ".", ")", ";"}
    if listed and len(telling) == 1:
        return Guess(EntityType.PLACE, HINTED)
    if _CODE.fullmatch(text, start, end) or (text[start:end].isupper() and end - start > 2):
        # Most capitals that stand for themselves are bodies: NASA, BBC. What QM-LN2 or E42 number, nothing tells.
        coded = any(char.isdigit() for char in text[start:end])
        return Guess(EntityType.CONCEPT if coded else EntityType.ORGANISATION, HINTED)
    if last in {"the", "The"} and len(telling) > 1 and words[-1].endswith("s"):
        return Guess(EntityType.ORGANISATION, HINTED)  # the Minnesota Vikings
    letters = all(word.replace("-", "").replace("'", "").isalpha() for word in words)
    plain = set(words) & ((CONNECTORS - PARTICLES) | small)
    if 2 <= len(telling) <= 3 and letters and last not in {"the", "The"} and not plain:
        # Two or three capitalised words without any cue are most often a person.
        return Guess(EntityType.PERSON, HINTED)
    return UNKNOWN
