"""How far the passages go along the way that a question needs: to each thing that it names, and over it to the next.

"Which of A and B came first?" needs a page about A and one about B, each with a date; "where was the director of A
born?" needs one about A, and one about someone whom that one names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hybridrag.language.roles import JAPANESE_ROLES, ROLES
from hybridrag.verify.read import Asked, Passage, new_finds
from hybridrag.verify.wants import Want

UNNAMED = 0.5
"""For a question that names nothing."""

WITHOUT_KIND = 0.5
"""A page about the thing that has no date, place or number, where such a thing is asked for."""

SPOKEN_OF = 0.7
"""What a page counts that speaks of a thing without being titled so."""

NOT_OVER = 0.4
"""A page about the thing, where the answer lies with what it leads to and no page is about that."""

LEAST_TITLE = 3
"""Characters of a title that is looked for in texts."""

_KINDS = frozenset((Want.DATE, Want.NUMBER, Want.PLACE))
_IN_TIME = re.compile(
    r"\b(?:first|earlier|earliest|later|latest|older|oldest|younger|youngest|newer|newest|recent|recently|before|after|"
    r"longer|born|died|founded|established|released|published)\b|先に|早い|早く|古い|新しい|後に|年上|年下|若い|長生き|生まれ"
)
"""What is compared by dates."""
_ASKED_FOR = re.compile(r"\b(?:which|what) [a-z]+")
"""What is asked for need not be led to: the singers in "which singer is older, A or B?" are A and B."""
_JOINED = "一-龥ァ-ヴー"
"""Beside these a role is part of a longer word."""
_LATIN = re.compile(r"[a-z][a-z-]*")
_ROLE = re.compile(rf"(?<![{_JOINED}])(?:{'|'.join(sorted(JAPANESE_ROLES))})(?![{_JOINED}])")


def whole_way(asked: Asked, titles: Sequence[str], passages: Sequence[Passage]) -> float:
    """From 0, a thing that the question names is nowhere, to 1, there is a page for every step to the answer.

    `titles` are those of the passages, as `plain_title` writes them. The weakest thing counts: a comparison needs all.
    """
    pages = _pages(asked, titles, passages)
    if not pages:
        return UNNAMED
    rest = asked.plain
    for thing in sorted(pages, key=len, reverse=True):
        rest = rest.replace(thing, " ")
    over = any(map(_is_role, _LATIN.findall(_ASKED_FOR.sub(" ", rest)))) or _ROLE.search(rest) is not None
    kind = Want.DATE if _IN_TIME.search(rest) else asked.want if asked.want in _KINDS else None
    about = {place for places in pages.values() for place in places}
    return min(_way(asked, titles, passages, places, about, over=over, kind=kind) for places in pages.values())


def _is_role(word: str) -> bool:
    return word in ROLES or word.removesuffix("s") in ROLES


def _pages(asked: Asked, titles: Sequence[str], passages: Sequence[Passage]) -> dict[str, list[int]]:
    """The things that the question names, and the passages about each: by title, or those that speak of it."""
    named = {title for title in titles if len(title) >= LEAST_TITLE and _stands_in(title, asked.plain)}
    named = {title for title in named if not any(title != other and title in other for other in named)}
    pages = {title: [at for at, one in enumerate(titles) if one == title] for title in sorted(named)}
    for name in asked.names:
        if not any(name.plain in title or title in name.plain for title in named):
            pages[name.plain] = [at for at, passage in enumerate(passages) if _stands_in(name.plain, passage.plain)]
    return pages


def _way(
    asked: Asked,
    titles: Sequence[str],
    passages: Sequence[Passage],
    places: Sequence[int],
    about: set[int],
    *,
    over: bool,
    kind: Want | None,
) -> float:
    """How far one thing leads."""
    if not places:
        return 0.0
    counts = 1.0 if _stands_in(titles[places[0]], asked.plain) else SPOKEN_OF
    if not over:
        return counts * max(_holds(asked, passages[at], kind) for at in places)
    ends = [
        at
        for at, title in enumerate(titles)
        if at not in about and len(title) >= LEAST_TITLE and any(_stands_in(title, passages[on].plain) for on in places)
    ]
    return counts * max((_holds(asked, passages[at], kind) for at in ends), default=NOT_OVER)


def _holds(asked: Asked, passage: Passage, kind: Want | None) -> float:
    return 1.0 if kind is None or new_finds(asked, passage, kind) else WITHOUT_KIND


def _stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text as a whole; between kana and kanji words have no ends to see."""
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (_runs_on(before, name[0]) or _runs_on(name[-1], after)):
            return True
        at = text.find(name, at + 1)
    return False


def _runs_on(left: str, right: str) -> bool:
    return left.isascii() and right.isascii() and left.isalnum() and right.isalnum()
