"""English question -> what its words say about its type.

A question is read as words in small letters with every name as `N`, one space between them, so that a rule sees
"which of N and N is deeper ?".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybridrag.queries.breadth_english import BROAD_FROM
from hybridrag.queries.breadth_english import breadth as cues_of_breadth
from hybridrag.queries.patterns import FEW, GAP, WORD, any_of
from hybridrag.queries.read_english import NAME
from hybridrag.queries.relations_english import relation_signals
from hybridrag.queries.signals import Signal
from hybridrag.queries.words_english import (
    AUXILIARIES,
    BROAD,
    BROAD_SINGULAR,
    CHANGED,
    CORPUS,
    CORPUS_MANY,
    GROUPS_MANY,
    REPORTED,
    WIDE,
)
from hybridrag.types.queries import QueryType

LONG_QUESTION = 28
"""Words; an open question of that length asks for an account drawn together from many places."""

_CORPUS, _MANY, _BROAD, _REPORTED = any_of(CORPUS), any_of(CORPUS_MANY), any_of(BROAD), any_of(REPORTED)
_THESE = "(?:this|these|those|that)"
_THE = "(?:the|this|these|those|our|your|all|most)"

# ---------------------------------------------------------------- the whole

_OVERVIEW = re.compile(
    rf"""
      \b(?:overview|big\ picture|gist|recap|rundown|synopsis|tl\ ;\ dr|tldr)\b
    | \b(?:summary|summaries|summarise|summarize|summarised|summarized|summarising|summarizing)\b
      (?!\ (?:field|column|page|table|button|box|row|tab|line|file|statistics?|view|flag|option)\b)
    | \b{any_of(WIDE)}\ (?:{WORD}){{0,2}}{any_of(BROAD - BROAD_SINGULAR)}\b
    | \b(?:main|central|overall|overarching|underlying|general)\ (?:{WORD})?{any_of(BROAD_SINGULAR)}\b
    | \bmost\ (?:common|important|frequent|significant|pressing|discussed)\ (?:{WORD})?{_BROAD}\b
    | \b(?:themes|topics|subjects|patterns|motifs|trends)\ (?:run|recur|emerge|keep|come|appear|are\ discussed)\b
    | \bkeeps?\ (?:coming\ up|recurring|appearing|returning)\b | \btakeaways?\b
    | \bwhat\ (?:is|was|are|were|'s)\ (?:this|these|it|all\ this|(?:the|{_THESE})\ {FEW}{_CORPUS})
      \ (?:all\ |mostly\ |mainly\ )?about\b
    | \bwhat\ (?:is|'s)\ this\ {_CORPUS}\b | \bwhat\ is\ in\ (?:this|these|here)\b
    | \b{_THESE}\ {FEW}{_CORPUS}\ (?:{WORD})?(?:discuss|cover|covers|say|contain|deal|argue|focus|talk)\b
    | \bwhat\ (?:the|{_THESE})\ {FEW}{_CORPUS}\ covers?\b
    | \b(?:outline|describe|explain|list)\ the\ (?:contents?|structure)\ of\b
    | \bwhat\ (?:kinds?|types?|sorts?)\ of\ {_CORPUS}\ (?:are|is|do)\b
    | \b(?:whole|entire)\ {_CORPUS}\b | \bas\ a\ whole\b
    """,
    re.VERBOSE,
)
_CHANGE = re.compile(
    rf"""
      \bhow\ (?:has|have|did)\ {GAP}{any_of(CHANGED)}\b | \bhow\ (?:has|have)\ {GAP}been\ {_REPORTED}\b
    | \bover\ (?:time|the\ (?:(?:past|last)\ {WORD})?(?:years|decades|months|quarters))\b
    | \b(?:trends?|trajectory|evolution)\ (?:in|of|for)\b
    """,
    re.VERBOSE,
)
_REPORT = re.compile(
    rf"""
      \b(?:what|which)\ (?:{WORD}){{1,6}}?(?:have|has|were|are)\ (?:been\ )?(?:{WORD})?{_REPORTED}\b
    | \b(?:what|which)\ (?:{WORD}){{1,5}}?have\ (?:shown|seen|emerged)\b
    """,
    re.VERBOSE,
)
_THROUGHOUT = re.compile(
    rf"""
      \b(?:in|from|across|through|throughout)\ (?:all\ )?(?:of\ )?{_THE}\ {FEW}{_MANY}\b
    | \bdo\ (?:the|these|our|those)\ {FEW}{_MANY}\ (?:{WORD})?
      (?:mention|say|discuss|cover|agree|view|describe|stress)\b
    | \bacross\ (?:the|all|these|our|different|multiple|various)\ {FEW}{any_of(GROUPS_MANY)}\b
    | \b(?:overall|in\ general|on\ the\ whole|by\ and\ large|most\ often|most\ frequently)\b
    | \b(?:mostly|mainly|generally|usually)\ (?:about|discuss|talk|cover|deal|focus|concern|complain|view)\b
    """,
    re.VERBOSE,
)
_OPEN = re.compile(
    rf"""
      (?:^|[,.N]\ (?:and\ )?)
      (?:how\ (?!many|much|long|old|far|often|big)|in\ what\ ways?\b|describe\b|explain\b|discuss\b)
    | \bwhat\ (?:is|are|was|were)\ (?:the|some|N\ 's)\ {FEW}
      (?:roles?|nature|significance|process|traditions|background)\b
    | \bwhat\ (?:roles?|patterns?|contributions?|shared|actions|does|specific\ (?:actions|roles))\b
    """,
    re.VERBOSE,
)
_ACCOUNT = re.compile(
    r"^(?:in [^,?]{1,60} , )?(?:how|what)\b.{0,300}\b(?:narrative|story|novel|text)\b.{0,100}"
    r"\b(?:depict|portray|characteri[sz]e|describe|illustrate|explore|reveal|suggest|present)"
)
_WHOLE_RULES = (
    ("overview", _OVERVIEW),
    ("change over time", _CHANGE),
    ("what is reported", _REPORT),
    ("throughout", _THROUGHOUT),
)

# ---------------------------------------------------------------- one thing

_PART = re.compile(
    r"\b(?:chapter|section|page|paragraph|clause|figure|table|appendix|volume|scene|slide|step|item|verse|stanza)"
    r" (?:[0-9]+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|N)\b"
)
_FACT = (
    r"(?:who|whom|whose|when|where|how\ (?:many|much|long|old|far|often|big|tall)"
    r"|(?:what|which)\ (?:time|date|year|day|month|decade|century|number|city|country|county|state|town|person))"
)
_AUXILIARY = any_of(AUXILIARIES)
_LED_BY = re.compile(
    rf"""
    (?:^|,\ )(?:(?:and|so|then|tell\ me|show\ me|do\ you\ know|in|at|on|by|to|from|with|for|under|after|during)\ )*
    (?:(?P<fact>{_FACT})|what|which|how|why)\b
    # "when N is pursued, how ..." and "the scenes where ..." ask nothing
    (?<!\bwhen(?!\ {_AUXILIARY}\b))(?<!\bwhere(?!\ {_AUXILIARY}\b))
    """,
    re.VERBOSE,
)
_HOW_TO = re.compile(
    r"^(?:how (?:do|can|could|should) (?:i|we|you|one)\b|how to\b|(?:can|may|could|should) (?:i|we)\b)"
)
_ASKS = "(?:how|what|who|whom|when|where|why|which|summari[sz]e|compare|tell|give|list|describe|explain)"
_PART_BREAK = re.compile(
    rf" [;.?!] | , (?:and |then |and then )?(?:also |please )?(?={_ASKS}\b)"
    rf"| (?:and|then|plus) (?:also |please )?(?={_ASKS}\b)| , (?:and )?then "
)
_SPECIFIC = re.compile(
    rf"\b{_FACT}\b|\b(?:phone|telephone|number|address|date|deadline|e-?mail|price|name) (?:number )?(?:of|for)\b"
)
_WHAT = ("what ", "which ", "tell me ", "show me ")


def parts(line: str) -> list[str]:
    """The questions that one line asks.

    "summarise the report and tell me who wrote it" -> ["summarise the report", "tell me who wrote it"]
    """
    return [part for piece in _PART_BREAK.split(line) if (part := piece.strip(" ,.;?!"))]


def is_fact(line: str) -> bool:
    """Whether it asks for one thing: who, when, where, how many, or something of a name.

    "tell me who wrote it" -> True
    """
    return bool(_SPECIFIC.search(line)) or (NAME in line.split(" ") and line.startswith(_WHAT))


def breadth(line: str) -> int:
    """Cues that it asks for the whole; 0 where it plainly asks for a fact or for a way to do something.

    "which complaints dominate the hotel feedback ?" -> 5
    """
    return 0 if _HOW_TO.search(line) or _is_led_by_fact(line) else cues_of_breadth(line)


def signals(line: str) -> Iterator[Signal]:
    """Every rule that fits: what asks for one part first, then what asks for the whole, then relations.

    "which of N and N is deeper ?" -> relationship by `comparison`
    """
    if _PART.search(line):
        yield Signal(QueryType.LOCAL, "part of a document")
    elif not _HOW_TO.search(line):
        if not _is_led_by_fact(line):
            yield from _whole_signals(line)
        yield from relation_signals(line)


def _is_led_by_fact(line: str) -> bool:
    """Whether the first thing it asks is who, when, where or how many."""
    led = _LED_BY.search(line)
    return led is not None and led["fact"] is not None


def _whole_signals(line: str) -> Iterator[Signal]:
    for rule, pattern in _WHOLE_RULES:
        if pattern.search(line):
            yield Signal(QueryType.GLOBAL, rule)
    if (line.count(" ") >= LONG_QUESTION and _OPEN.search(line)) or _ACCOUNT.search(line):
        yield Signal(QueryType.GLOBAL, "account")
    if cues_of_breadth(line) >= BROAD_FROM:
        yield Signal(QueryType.GLOBAL, "breadth")
