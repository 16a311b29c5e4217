"""Find what an English question goes over without naming it: the director in "the mother of the director of N".

A question is nested when its answer hangs on a thing that it neither names nor asks for. "Who is the director of N?"
asks for the director, so it is not; "When was the director of N born?" is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hybridrag.language.roles import DISTANT_KIN, KIN, MAKERS, ROLES, words
from hybridrag.queries.read_english import NAME
from hybridrag.queries.words_english import (
    AUXILIARIES,
    COPULAS,
    DETERMINERS,
    ENTITIES,
    GROUPS,
    PEOPLE,
    PLACES,
    PREDICATES,
    PREPOSITIONS,
    QUESTION_WORDS,
    RELATIVES,
    TRANSPARENT,
    VERBS_TOO,
)

MAX_MODIFIERS = 5
"""Words between an article and its noun: the first South Korean car manufacturer."""

MAX_COMPLEMENT = 8
"""Words looked at for a name after `the winner of`."""

MAX_TO_QUESTION = 8
"""Words between a thing and the question word that asks about it: a singer from what state."""

_HAVING_OWNERS = ROLES | GROUPS | {"city"}
_NO_MODIFIERS = QUESTION_WORDS | AUXILIARIES | {"took", "take", "takes"}
_TOLD_BY = frozenset(
    {
        "known",
        "named",
        "called",
        "nicknamed",
        "featuring",
        "containing",
        "holding",
        "winning",
        "causing",
        "following",
        "preceding",
    }
)
_PLAIN_NAMES = frozenset({"first", "last", "full", "real", "birth", "middle", "family"})
_UNIQUE = frozenset({"only", "first", "last", "youngest", "oldest"})
_ASKING = frozenset({"as", "me", "about", "name", "list", "identify", "find", "called", "named", "being"})
_NO_THING = words(
    """
    age amount area basis belief case claim conditions date day degree direction evidence extent fact form height
    hypothesis idea level manner means method moment month name names news number order period point principle process
    purpose rate reason reasons speed stage terms theory time times title way ways word words year years
    """
)
"""What a clause tells of without there being a certain thing: the year in which, the fact that, the extent to which."""
_IN_CHARGE = frozenset({("in", "charge"), ("responsible", "for")})


def bridges(texts: Sequence[str]) -> Iterator[int]:
    """Where in the words (names as `N`) something stands that the question needs on its way.

    who is the mother of the director of N -> 7, the director
    """
    asks = any(text in QUESTION_WORDS for text in texts)
    for at, text in enumerate(texts):
        told = _is_told(texts, at)
        start = _phrase_start(texts, at) if told or text in ENTITIES else None
        if start is None or "number" in texts[start:at]:
            continue
        relative = told or _is_relative(texts, start, at)
        complement = _is_complement(texts, start, at, asks=asks)
        asked = not (complement and text in DISTANT_KIN) and _is_asked_for(texts, start, at, relative=relative)
        if (relative or complement) and not asked:
            yield at


def _is_told(texts: Sequence[str], at: int) -> bool:
    """Whether a clause with a name in it says which one is meant, whatever sort of thing it is.

    the bakery whose owner N knew; the keeper on whom N is modelled; the bridge that N painted; the son of the cook of N
    """
    if not texts[at].isalpha() or texts[at] in _NO_THING or NAME not in texts[at + 2 :]:
        return False
    first, second, *_ = [*texts[at + 1 : at + 3], "", ""]
    if first == "whose" or (first in PREPOSITIONS and second in {"whom", "which", "whose"}):
        # "N is a kind of which instrument?" asks with it
        return any(text in QUESTION_WORDS for text in texts[:at])
    if first == "that" and second == NAME:
        # "the bridge that N painted"; with nothing behind the name it is "that N", and no clause
        return any(text[0].isalnum() for text in texts[at + 3 : at + 4])
    return first == "of" and _owner_is_kin(texts, at)


def _owner_is_kin(texts: Sequence[str], at: int) -> bool:
    """Whether a relative of it is asked for: the father of the first librarian."""
    start = next((it for it in range(at - 1, max(-1, at - 2 - MAX_MODIFIERS), -1) if texts[it] == "the"), 0)
    return start > 1 and texts[start - 1] == "of" and texts[start - 2] in KIN


def _phrase_start(texts: Sequence[str], at: int) -> int | None:
    """Where the phrase with its noun at `at` begins: at its article, or at the owner before 's."""
    if texts[at - 1 : at] == [NAME] and texts[at] in VERBS_TOO:
        return None
    for start in range(at - 1, max(-1, at - 2 - MAX_MODIFIERS), -1):
        text = texts[start]
        if text in DETERMINERS:
            return start
        if text == "'s":
            owner = max(0, start - 1)
            return owner - 1 if owner and texts[owner - 1] in DETERMINERS else owner
        if not text[0].isalnum() or text in _NO_MODIFIERS:
            break
    # "when did person who ..." leaves the article out
    if texts[at] in PEOPLE and texts[at + 1 : at + 2] == ["who"]:
        return at
    # Northgate Fortress' designer
    return at - 1 if texts[at] in MAKERS and texts[at - 1 : at] == [NAME] else None


def _is_relative(texts: Sequence[str], start: int, at: int) -> bool:
    """Whether a clause tells of it: the city where, the film in which, the band founded by, the college N attended."""
    after = [text for text in texts[at + 1 : at + 5] if not text.endswith("ly")]
    first, second, third, *_ = [*after, "", "", ""]
    if _opens_clause(first, second) or (first.endswith("ed") and second == "by"):
        return True
    if (first.endswith("ed") or first == "born") and _opens_clause(second, third):
        return True
    if texts[start] in {"a", "an"} and first == "," and second in {"who", "which", "whose"}:
        return True
    if first in _TOLD_BY or first == "the":
        return True
    if texts[at] in PEOPLE and (first.endswith("ing") or first == "with" or (first, second) in _IN_CHARGE):
        return True
    return _is_bare_clause(texts, at, first, second) or _asks_behind(texts, at)


def _opens_clause(first: str, second: str) -> bool:
    return first in RELATIVES or (first in PREPOSITIONS and second in {"which", "whom", "whose"})


def _is_bare_clause(texts: Sequence[str], at: int, first: str, second: str) -> bool:
    """A clause without its pronoun: the college N attended, the company N is part of; no "the band N formed in"."""
    if texts[at] not in GROUPS | PLACES | {"series", "show", "field"} or first != NAME:
        return False
    if second in COPULAS:
        return "of" in {*texts[-2:], *texts[at + 4 : at + 5]}
    return second.endswith("ed") and second not in PREDICATES


def _asks_behind(texts: Sequence[str], at: int) -> bool:
    """N is an album by a singer from what state: the question stands behind the thing."""
    if texts[0] in QUESTION_WORDS or (texts[0] in PREPOSITIONS and texts[1:2] and texts[1] in QUESTION_WORDS):
        return False
    after = texts[at + 1 : at + 1 + MAX_TO_QUESTION]
    if not after or not (after[0] in PREPOSITIONS or after[0].endswith("ed") or after[0] == "born"):
        return False
    return "," not in after and any(
        text in PREPOSITIONS and asked in {"what", "which", "whom"} for text, asked in pairwise(after)
    )


def _is_complement(texts: Sequence[str], start: int, at: int, *, asks: bool) -> bool:
    """Whether it is told by what it belongs to: the employer of N, N's mother, the N manufacturer."""
    following = texts[at + 1] if at + 1 < len(texts) else ""
    if "'s" in texts[start:at]:
        owners = texts[start : start + 2]
        return (
            (NAME in owners or bool(ROLES.intersection(owners)))
            and texts[at] in _HAVING_OWNERS
            and (texts[at] in KIN or asks)
        )
    if texts[at] not in ROLES:
        return False
    if following in {"of", "for", "behind"} or (following == "in" and texts[at + 2 : at + 3] == [NAME]):
        complement = texts[at + 2 : at + 2 + MAX_COMPLEMENT]
        return asks or any(text == NAME or text.isdigit() for text in complement)
    if following in {"in", "to"} and texts[at] not in KIN and _UNIQUE.intersection(texts[start:at]):
        return True
    return texts[at] in MAKERS and texts[at - 1] == NAME


def _is_asked_for(texts: Sequence[str], start: int, at: int, *, relative: bool) -> bool:
    """Whether this is what the question is after: who is the director of, which author of."""
    before = _without_transparent(texts[:start])
    if not before:
        return not any(text in QUESTION_WORDS for text in texts[start + 2 :])
    last = before[-1]
    if last in QUESTION_WORDS or last in _ASKING or (not relative and _is_apposition(texts, start, before)):
        return True
    if last not in COPULAS or len(before) < 2:
        return False
    return _is_asked_by_copula(texts, at, before, relative=relative)


def _is_apposition(texts: Sequence[str], start: int, before: Sequence[str]) -> bool:
    """N, the poet of; was N the capital of."""
    return (before[-1] == "," and texts[start] == "the") or (before[-1] == NAME and bool(COPULAS.intersection(before)))


def _is_asked_by_copula(texts: Sequence[str], at: int, before: Sequence[str], *, relative: bool) -> bool:
    """Who is the, what is the, which city is the."""
    asked, ends = before[-2], [text for text in texts if text[0].isalnum()][-1]
    if asked == "what" and ends in {"of", "from", "in"}:
        return False
    if asked in {"who", "what", "which"} or (asked == "where" and texts[at] in PLACES):
        return True
    # Which city is the capital of N? But: what nationality is N's husband, what university is N's college part of?
    return not relative and asked in ENTITIES and before[0] in {"what", "which"} and ends not in PREPOSITIONS


def _without_transparent(before: Sequence[str]) -> list[str]:
    """`what is the name of` asks what `what is` asks."""
    kept = list(before)
    while len(kept) >= 2 and kept[-1] == "of" and kept[-2] in TRANSPARENT:
        del kept[-2:]
        while kept and kept[-1] in DETERMINERS | _PLAIN_NAMES:
            kept.pop()
    return kept
