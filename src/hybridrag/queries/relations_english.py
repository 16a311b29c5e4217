"""English question -> what in it asks how things relate: compare, connect, cause, explain, or hang on each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybridrag.queries.bridges_english import bridges
from hybridrag.queries.patterns import FEW, GAP, WORD, any_of
from hybridrag.queries.signals import Signal
from hybridrag.queries.words_english import AUXILIARIES, COMPARATIVES
from hybridrag.types.queries import QueryType, RelationHint

SHORT_QUESTION = 20
"""Words; in a longer one a relation that is mentioned need not be what is asked for."""

_RELATION = QueryType.RELATIONSHIP

_COMPARISON = re.compile(
    rf"""
      \b(?:compare|compares|compared|comparing|comparison|comparisons|versus|vs|similarities|similarity)\b
    | \bdifferences?\ (?:between|in|from|of)\b | \b(?:the|what)\ differences?\b
    | \b(?:differ|differs|differed|contrast)\b | \bdifferent\ (?:from|than)\b
    | \bin\ common\b | \bhow\ similar\b | \bthe\ same\ {FEW}as\b | \bpros\ and\ cons\b | \btrade-?offs?\b
    | \bwhich\ of\ (?:the\ two|these\ two|those\ two|N\b) | \bof\ the\ two\b
    | \bbetween\ N\ and\ N\ ,?\ ?(?:who|which|what)\b
    | \b(?:are|were)\ both\b | \bboth\ {FEW}N\ and\ {FEW}N\b
    | \b{any_of(COMPARATIVES)}\ {FEW}than\ (?![0-9]|an?\b|one\b|half\b|expected\b)
    """,
    re.VERBOSE,
)
_CHOICE = re.compile(
    r"\b(?:which|who|whose)\b (?:[^ ?;]+ ){0,24}or\b|\bwhat\b (?:[^ ?;]+ ){0,24}N or (?:the )?N\b",
)
_EITHER = re.compile(
    r"\b[a-zN]+ or [a-zN]+ , which\b|\b(?:which|who|what)\b (?:[^ ?;]+ ){0,24}, (?:the )?N or (?:the )?N(?: \?)*$"
)
_PAIR = re.compile(r"\bN (?:, )?(?:and|or) (?:the )?N\b")
_TOGETHER = re.compile(r"\b(?:each other|respective|respectively)\b")

_NOUN = (
    "(?:relationships?|relations?|connections?|associations?|correlations?|interactions?|interplay|dependency"
    "|dependencies|links?|ties|tensions?|resemblance|affinity)"
)
_ASKED = re.compile(
    rf"""
      \b(?:what|which|describe|explain|show|find|is\ there|are\ there)\ {FEW}{FEW}{_NOUN}\ {FEW}
      (?:between|among|to|with)\b
    | \bhow\ (?:is|are|was|were|do|does|did)\ {GAP}(?:related|connected|linked|relate|connect|interconnected|tied)\b
    | ^(?:is|are|was|were)\ {GAP}(?:related|connected|linked|tied)\ (?:to|with)\b
    | \bwhat\ (?:connects|links|relates|unites|ties)\b | \bwhat\ do\ N\ and\ N\ share\b
    | ^(?:the\ )?{_NOUN}\ {FEW}(?:between|among|with|of|to)\b
    | \bwho\ (?:does\ N\ report|reports)\ to\b
    """,
    re.VERBOSE,
)
_MENTIONED = re.compile(rf"(?<!in )\b{_NOUN}\ {FEW}(?:between|among|amongst)\b")

_EFFECT = re.compile(
    rf"""
      \bhow\ (?:do|does|did|has|have|will|would|can|could|might|should)\ {GAP}
      (?:affect|impact|influence|affected|impacted|influenced)\b
    | \b(?:effects?|impacts?|influences?)\ {FEW}of\ {GAP}(?:on|upon)\b
    | \bwhat\ (?:is|are|was|were)\ the\ {FEW}(?:effects?|impacts?|influences?|consequences?)\b
    | ^(?:what|who)\ (?:caused|causes|triggered|triggers|led\ to|leads\ to|resulted\ in|prompted|made)\b
    | \b(?:root\ )?causes?\ (?:of|for|behind)\b
    | ^(?:did|does|do|will|would|can|could)\ {GAP}
      (?:lead\ to|cause|result\ in|affect|impact|influence|to\ do\ with)\b
    """,
    re.VERBOSE,
)
_REASON = re.compile(
    r"^(?:(?:but|so|and|then|tell me|explain|do you know) )*why\b|\breasons? (?:for|why|behind|that)\b|\bhow come\b"
    r"|\bthe reasons?\b"
)
_TAIL = re.compile(rf" , (?:who|which|whose) (?:{WORD}){{1,6}}(?:which|what)\b")
"""The question hangs on a clause about something: N was led by N, who died on which date?"""


def relation_signals(line: str) -> Iterator[Signal]:
    """Every rule that fits, the plainest first.

    "how does N affect N ?" -> `effect`
    """
    if _COMPARISON.search(line) or _is_choice(line):
        yield Signal(_RELATION, "comparison", RelationHint.COMPARISON)
    short = line.count(" ") < SHORT_QUESTION
    if _ASKED.search(line) or (short and _MENTIONED.search(line)):
        yield Signal(_RELATION, "relation", RelationHint.RELATIONSHIP)
    if _EFFECT.search(line):
        yield Signal(_RELATION, "effect", RelationHint.CAUSATION)
    if _REASON.search(line):
        yield Signal(_RELATION, "reason", RelationHint.REASON)
    if _TAIL.search(line) or any(True for _ in bridges(line.split(" "))):
        yield Signal(_RELATION, "nested", RelationHint.GENERAL)


def _is_choice(line: str) -> bool:
    """Which is larger, N or N? Are N and N alike? Do the two work in the same team?"""
    words = set(line.split(" "))
    pair = bool(_PAIR.search(line))
    if line.split(" ", 1)[0] in AUXILIARIES and (pair or ("and" in words and words & {"both", "same"})):
        return True
    if _EITHER.search(line):
        return True
    if not words & COMPARATIVES:
        return pair and bool(_TOGETHER.search(line))
    return bool(_CHOICE.search(line)) or (pair and bool(_TOGETHER.search(line) or words & {"which", "who"}))
