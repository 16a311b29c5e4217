"""Tell how broad an English question is: cues that it asks for the whole, none of which is enough by itself.

People ask for the whole in endless ways ("which complaints dominate the hotel feedback?"), so no list of phrases
finds them. They nearly always name a collection, ask openly, or use a word that draws things together, and they name
nothing in particular.
"""

from __future__ import annotations

import re

from hybridrag.queries.patterns import FEW, any_of
from hybridrag.queries.read_english import NAME
from hybridrag.queries.words_english import BROAD, BROAD_SINGULAR, CORPUS, CORPUS_MANY, CROWD

BROAD_FROM = 3
"""Points from which a question is taken to ask for the whole."""

PER_NAME = 2
"""Points that a name or a number costs: it makes the question one about that."""

_CORPUS, _MANY = any_of(CORPUS), any_of(CORPUS_MANY)
_DRAWS_TOGETHER = re.compile(
    r"""
      \b(?:overall|broadly|roughly|in\ general|altogether|collectively|in\ short|at\ a\ high\ level|in\ broad\ strokes
        |sum\ up|boil|outline|classify|cluster|by\ (?:topic|theme|category)|essentials|essence|should\ i\ know
        |everyone|everybody|mostly|most\ often|again\ and\ again|recurring|stands?\ out|dominates?|big|biggest
        |tone|mood|heading|general\ direction|patterns?|themes?|trends?|worry|worried|complain|complaining
        |throughout|emerge[sd]?|evolve[sd]?|shift(?:ed)?|change(?:d|s)?\ (?:between|over|since|from))\b
    | \bkeeps?\ [a-z]+ing\b
    """,
    re.VERBOSE,
)
_ASKS_OPENLY = re.compile(
    r"(?:^|, )(?:what|which|what 's|whats|how|describe|explain|give|group|list|show|sort|tell|walk|sum|boil|i need"
    r"|i want)\b"
)
_ASKS_FOR_BROAD = re.compile(
    rf"(?:^|, )(?:what|which) (?:[a-z]+ ){{0,2}}?{any_of(BROAD - BROAD_SINGULAR)}"
    r" (?:do|does|did|have|dominate|keep|come|run)\b"
)
_CUES = (
    _ASKS_OPENLY,
    _ASKS_FOR_BROAD,
    re.compile(rf"\b{any_of(BROAD - CORPUS)}\b"),
    re.compile(rf"\b{_CORPUS}\b"),
    re.compile(rf"\b{any_of(CROWD)}\b"),
    re.compile(rf"\b(?:do|did|in|from|of|across|between|through) (?:the|these|our|those|all) {FEW}{_MANY}\b"),
    re.compile(rf"\b(?:this|these|those|that) {FEW}{_CORPUS}\b"),
)
_ABOUT_ONE = re.compile(
    r"\b(?:say|says|said|mention|mentions|mentioned|state|states|talk|discuss|discussed) about (?!it\b|us\b)"
)
"""What is said about one subject is a detail."""
_ASKED_OF_ONE = re.compile(
    r"\b(?:deadline|size|format|author|date|location|located|number|page|pages|version|link|url|password|template|submit"
    r"|upload|download|send|print|sign|signed|attach|store|stored|saved|cost|price|default|install|required|need to)\b"
)
"""What is asked of one thing, be it a document."""


def breadth(line: str) -> int:
    """Points for the whole, less what names and numbers cost.

    "which complaints dominate the hotel feedback ?" -> 5: dominate (2), which, complaints, feedback
    """
    if _ASKED_OF_ONE.search(line):
        return 0
    points = 2 * bool(_DRAWS_TOGETHER.search(line)) + sum(bool(cue.search(line)) for cue in _CUES)
    particular = line.split(" ").count(NAME) + bool(re.search("[0-9]", line))
    return points - bool(_ABOUT_ONE.search(line)) - PER_NAME * particular
