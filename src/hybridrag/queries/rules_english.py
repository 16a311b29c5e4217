"""English question -> what its words and the shape of its clauses say about its type.

A question is read as words in small letters with every name as `N`, one space between them, so that a rule sees
"which of N and N is deeper ?". Nouns are told by form and place: a plural, a noun behind an article, one with a suffix
of agents. Lists hold closed classes alone, and the few words by which an overview is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybridrag.language.words import ENGLISH_STOP_WORDS
from hybridrag.queries.read_english import NAME
from hybridrag.queries.signals import Signal
from hybridrag.queries.words import any_of, english
from hybridrag.types.queries import QueryType, RelationHint

BROAD_FROM = 3
"""Cues from which a question is taken to ask for the whole."""

PER_NAME = 2
"""Cues that a name or a number costs: it makes the question one about that."""

SHORT_QUESTION = 20
"""Words; in a longer one a relation that is mentioned need not be what is asked for."""

MAX_MODIFIERS = 5
"""Words between an article and its noun: the first South Korean car manufacturer."""

MAX_COMPLEMENT = 8
"""Words looked at for a name after `the winner of`, and in a clause."""

QUESTION_WORDS, AUXILIARIES, COMMANDS = english("question_words"), english("auxiliaries"), english("commands")
_DETERMINERS, _PREPOSITIONS, _RELATIVES = english("determiners"), english("prepositions"), english("relatives")
_COPULAS, _KIN, _PEOPLE, _ABSTRACT = english("copulas"), english("kin"), english("people"), english("abstract")
_DISTANT, _OFFICES = english("distant_kin"), english("offices", "belongings")
_NO_AGENTS, _TRANSPARENT = english("no_agents"), english("transparent")
_FUNCTION = ENGLISH_STOP_WORDS | english("function_words", "prepositions", "auxiliaries", "question_words")

_WORD = r"[^ ,?.;]+\ "
_FEW = rf"(?:{_WORD}){{0,3}}"
_GAP = r"(?:[^ ?.;]+\ ){0,24}"
_PLURAL = r"(?:[a-z-]{2,}(?<![suio])s|people|children|men|women|criteria|feedback)"
_DOC = rf"{any_of(english('documents'))}s?"
_DOCS = rf"(?:(?!minutes?\b){any_of(english('documents'))}s|minutes|feedback|correspondence)"
_GIST = any_of(english("gist"))
_WIDE, _CHANGE_WORD, _SAID = any_of(english("wide")), any_of(english("change")), any_of(english("said"))
_DEFINITE = "(?:the|this|these|those|our|your|all|most)"

# ---------------------------------------------------------------- the whole

_OVERVIEW = re.compile(
    rf"""
      # a summary of, the overview, please; in front of another noun it only says which: the summary field
      \b{any_of(english("summary"))}(?=\ {any_of(_FUNCTION)}\b|\ [^a-z]|$)
    | \b(?:{any_of(english("summarise"))}|sum\ up|boil\ {_GAP}down|big\ picture|tl\ ;\ dr
        |in\ (?:broad\ strokes|short))\b
    | \b{_WIDE}\ (?:{_WORD}){{0,2}}{_GIST}s?\b | ^(?!.*\bN\b).*\b{_WIDE}\ (?:{_WORD})?{_PLURAL}(?=\ |$)
    | \bwhat\ (?:is|was|are|were|'s)\ (?:this|these|it|all\ this|(?:the|this|these|those)\ {_FEW}{_DOC})
      \ (?:all\ |mostly\ |mainly\ )?about\b
    | \bwhat\ (?:is|are|'s)\ (?:this\ {_DOC}|in\ (?:this|these|here|the\ {_DOC}))\b
    | \b(?:this|these|those)\ {_FEW}{_DOC}\ (?:{_WORD})?(?:discuss|cover|say|contain|deal|argue|focus|talk)(?:e?s)?\b
    | \b(?:whole|entire)\ {_DOC}\b | \bas\ a\ whole\b
    | ^what\ (?:has\ |have\ )?(?:happened|changed|'s\ (?:new|going\ on)|is\ (?:new|going\ on))
      (?:\ (?:here|lately|recently|so\ far|(?:in|during|at)\ (?:the|this|these|our)\ {_DOC}))*\ \?*$
    """,
    re.VERBOSE,
)
_LIST = re.compile(
    rf"""
      ^(?:please\ )?{any_of(english("enumerate"))}\ (?:me\ |us\ )?
      (?:(?:all|every|each)\ (?:(?:of\ )?(?:the|our|my|these|those)\ )?(?:[^ ,?.;]+(?:\ |$)){{1,3}}
        |(?:(?:the|our|my)\ )?(?:{_WORD}){{0,2}}{_PLURAL}(?:\ |$))
      (?:\?|\.|$|(?:in|from|that|which|we|mentioned|and)\b)
    | \b(?:what|which)\ (?:(?:kinds?|types?|sorts?)\ of\ )?(?:{_WORD}){{0,2}}{_PLURAL}\ (?:{_WORD}){{0,2}}?
      (?:are\ (?:there|planned|available|known|{_SAID})|were\ (?:there|{_SAID})|exist
      |(?:do|have)\ we\ (?:have|got|sell|offer|make|use)
      |have\ been\ {_SAID})\b
    | \b(?:what|which)\ {_PLURAL}\ (?:have|has)\ (?:been\ )?(?:{_WORD})?{_SAID}\b
    | ^what\ {_FEW}{_PLURAL}\ (?:run|recur|emerge|keep|come|appear|dominate)\b
    | ^what\ are\ the\ open\ {_PLURAL}\b
    """,
    re.VERBOSE,
)
_CHANGE = re.compile(
    rf"""
      \bhow\ (?:has|have|did)\ {_GAP}{_CHANGE_WORD}\b | \bhow\ (?:has|have)\ {_GAP}been\ {_SAID}\b
    | \bover\ (?:time|the\ (?:(?:past|last)\ {_WORD})?(?:years|decades|months|quarters))\b
    | \b(?:trends?|trajectory|evolution)\ (?:in|of|for)\b
    """,
    re.VERBOSE,
)
_THROUGHOUT = re.compile(
    rf"""
      \b(?:in|from|across|through|throughout)\ (?:all\ )?(?:of\ )?{_DEFINITE}\ {_FEW}{_DOCS}\b
    | \bdo\ (?:the|these|our|those)\ {_FEW}{_PLURAL}\ (?:{_WORD})?
      (?:mention|say|discuss|cover|agree|view|describe|stress|criticise|criticize|complain|worry|praise|like)\b
    | \bacross\ (?:the|all|these|our|different|multiple|various)\ {_FEW}{_PLURAL}\b
    | \b(?:overall|in\ general|on\ the\ whole|by\ and\ large|most\ often|most\ frequently)\b
    """,
    re.VERBOSE,
)
_WHOLE_RULES = (("overview", _OVERVIEW), ("list", _LIST), ("change over time", _CHANGE), ("throughout", _THROUGHOUT))
_CUES = (
    re.compile(rf"(?:^|, )(?:what|which|what 's|whats|how|{any_of(COMMANDS)}|i need|i want)\b"),
    re.compile(
        rf"\b(?:what|which) (?:[a-z]+ ){{0,2}}?{_PLURAL}\b|\b{_GIST}s?\b"
        rf"|^{any_of(COMMANDS)} (?:[a-z]+ ){{0,3}}?{_PLURAL}\b"
    ),
    re.compile(rf"\b{_DOCS}\b"),
    re.compile(rf"\b(?:do|did|in|from|of|across|between|through) (?:the|these|our|those|all) {_FEW}{_PLURAL}\b"),
    re.compile(rf"\b(?:this|these|those|that) {_FEW}{_DOC}\b"),
    # What draws together counts twice.
    *[re.compile(rf"\b{any_of(english('aggregate'))}\b|\bkeeps? [a-z]+ing\b|\b{_CHANGE_WORD} (?:over|since|from)\b")]
    * 2,
)
_ABOUT_ONE = re.compile(r"\b(?:said?|says?|mention(?:s|ed)?|states?|talk|discuss(?:ed)?) about (?!it\b|us\b)")
"""What is said about one subject is a detail."""

# ---------------------------------------------------------------- one thing

_PART = re.compile(
    r"\b(?:chapter|section|page|paragraph|clause|figure|table|appendix|volume|scene|slide|step|item|verse|stanza)"
    r" (?:[0-9]+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|N)\b"
)
_FACT = (
    r"(?:who|whom|whose|when|where|how\ (?:many|much|long|old|far|often|big|tall)"
    rf"|(?:what|which)\ (?:number|person|{any_of(english('times', 'places'))}))"
)
_LED_BY = re.compile(
    rf"""
    (?:^|,\ )(?:(?:and|so|then|tell\ me|show\ me|do\ you\ know|in|at|on|by|to|from|with|for|under|after|during)\ )*
    (?:(?P<fact>{_FACT})|what|which|how|why)\b
    # "when N is pursued, how ..." and "the scenes where ..." ask nothing
    (?<!\bwhen(?!\ {any_of(AUXILIARIES)}\b))(?<!\bwhere(?!\ {any_of(AUXILIARIES)}\b))
    """,
    re.VERBOSE,
)
_HOW_TO = re.compile(
    r"\bhow to\b|^(?:how (?:do|can|could|should) (?:i|we|you|one)\b|(?:can|may|could|should) (?:i|we)\b)"
)
_ASKS = "(?:how|what|who|whom|when|where|why|which|summari[sz]e|compare|tell|give|list|describe|explain)"
_PART_BREAK = re.compile(
    rf" [;.?!] | , (?:and |then |and then )?(?:also |please )?(?={_ASKS}\b)"
    rf"| (?:and|then|plus) (?:also |please )?(?={_ASKS}\b)| , (?:and )?then "
)
_SPECIFIC = re.compile(rf"\b{_FACT}\b|\b(?:number|address|date|deadline|price|name) (?:of|for)\b")

# ---------------------------------------------------------------- relations

_MORE = rf"(?:[a-z]{{3,}}(?:er|est)|{any_of(english('comparatives'))})"
_COMPARISON = re.compile(
    rf"""
      \b(?:compare|compares|compared|comparing|comparisons?|versus|vs|similarit(?:y|ies))\b
    | \bdifferences?\ (?:between|in|from|of)\b | \b(?:the|what)\ differences?\b
    | \b(?:differ|differs|differed|contrast)\b | \bdifferent\ (?:from|than)\b
    | \bin\ common\b | \bhow\ similar\b | \bthe\ same\ {_FEW}as\b | \bpros\ and\ cons\b | \btrade-?offs?\b
    | \bwhich\ of\ (?:the\ two|these\ two|those\ two|N\b) | \bof\ the\ two\b
    | \bbetween\ N\ and\ N\ ,?\ ?(?:who|which|what)\b
    | \b(?:are|were)\ both\b | \bboth\ {_FEW}N\ and\ {_FEW}N\b
    | \b{_MORE}\ {_FEW}than\ (?![0-9]|an?\b|one\b|half\b|expected\b)
    """,
    re.VERBOSE,
)
_CHOICE = re.compile(r"\b(?:which|who|whose)\b (?:[^ ?;]+ ){0,24}or\b|\bwhat\b (?:[^ ?;]+ ){0,24}N or (?:the )?N\b")
_EITHER = re.compile(
    r"\b[a-zN]+ or [a-zN]+ , which\b|\b(?:which|who|what)\b (?:[^ ?;]+ ){0,24}, (?:the )?N or (?:the )?N(?: \?)*$"
)
_PAIR = re.compile(r"\bN (?:, )?(?:and|or) (?:the )?N\b")
_TOGETHER = re.compile(r"\b(?:each other|respective|respectively)\b")
_NOUN = (
    "(?:relationships?|relations?|connections?|associations?|correlations?|interactions?|interplay|dependency"
    "|dependencies|links?|ties|tensions?)"
)
_ASKED = re.compile(
    rf"""
      \b(?:what|which|describe|explain|show|find|is\ there|are\ there)\ {_FEW}{_FEW}{_NOUN}\ {_FEW}
      (?:between|among|to|with)\b
    | \bhow\ (?:is|are|was|were|do|does|did)\ {_GAP}(?:related|connected|linked|relate|connect|interconnected|tied)\b
    | ^(?:is|are|was|were)\ {_GAP}(?:related|connected|linked|tied)\ (?:to|with)\b
    | \bwhat\ (?:connects|links|relates|unites|ties)\b | \bwhat\ do\ N\ and\ N\ share\b
    | ^(?:the\ )?{_NOUN}\ {_FEW}(?:between|among|with|of|to)\b
    | ^who\ (?:does\ N\ report\ to|reports\ to|(?:succeed|precede|replace|marri|supersede)(?:s|d|ed)?)\b
    """,
    re.VERBOSE,
)
_MENTIONED = re.compile(rf"(?<!in )\b{_NOUN}\ {_FEW}(?:between|among|amongst)\b")
_EFFECT = re.compile(
    rf"""
      \bhow\ (?:do|does|did|has|have|will|would|can|could|might|should)\ {_GAP}(?:affect|impact|influence)(?:ed|d)?\b
    | \b(?:effects?|impacts?|influences?)\ {_FEW}of\ {_GAP}(?:on|upon)\b
    | \bwhat\ (?:is|are|was|were)\ the\ {_FEW}(?:effects?|impacts?|influences?|consequences?)\b
    | ^(?:what|who)\ (?:caused|causes|triggered|triggers|led\ to|leads\ to|resulted\ in|prompted|made)\b
    | \b(?:root\ )?causes?\ (?:of|for|behind)\b
    | ^(?:did|does|do|will|would|can|could)\ {_GAP}
      (?:lead\ to|cause|result\ in|affect|impact|influence|to\ do\ with)\b
    """,
    re.VERBOSE,
)
_REASON = re.compile(
    r"^(?:(?:but|so|and|then|tell me|explain|do you know) )*why\b|\breasons? (?:for|why|behind|that)\b|\bhow come\b"
    r"|\bthe reasons?\b"
)
_AGENT = re.compile("[a-z-]{2,}(?:er|or|ist|ian|ee|man|woman)s?")
_DO = frozenset(("do", "does", "did"))
_PARTICIPLES = frozenset(("born", "built", "held", "known", "led", "made", "run", "sold", "won", "written"))
_IN_CHARGE = frozenset({("in", "charge"), ("responsible", "for")})
_ASKING = frozenset({"as", "me", "about", "name", "list", "identify", "find", "called", "named", "being"})


def parts(line: str) -> list[str]:
    """The questions that one line asks.

    "summarise the report and tell me who wrote it" -> ["summarise the report", "tell me who wrote it"]
    """
    return [part for piece in _PART_BREAK.split(line) if (part := piece.strip(" ,.;?!"))]


def is_fact(line: str) -> bool:
    """Whether it asks for one thing: who, when, where, how many, or something of a name.

    "tell me who wrote it" -> True
    """
    about = NAME in line.split(" ") and line.startswith(("what ", "which ", "tell me ", "show me "))
    return bool(_SPECIFIC.search(line)) or about


def signals(line: str) -> Iterator[Signal]:
    """Every rule that fits: what asks for one part first, then what asks for the whole, then relations.

    "which of N and N is deeper ?" -> relationship by `comparison`
    """
    if _PART.search(line):
        yield Signal(QueryType.LOCAL, "part of a document")
    elif not _HOW_TO.search(line):
        if not _is_led_by_fact(line):
            for rule, pattern in _WHOLE_RULES:
                if pattern.search(line) and not (pattern is _LIST and NAME in line.split(" ")):
                    yield Signal(QueryType.GLOBAL, rule)
            if breadth(line) >= BROAD_FROM:
                yield Signal(QueryType.GLOBAL, "breadth")
        yield from _relation_signals(line)


def breadth(line: str) -> int:
    """Cues that it asks for the whole, less what names and numbers cost; 0 where it asks for a fact or for a way.

    "which complaints dominate the hotel feedback ?" -> 5: which, complaints, feedback, dominate (2)
    """
    if _HOW_TO.search(line) or _is_led_by_fact(line):
        return 0
    particular = line.split(" ").count(NAME) + bool(re.search("[0-9]", line))
    return sum(bool(cue.search(line)) for cue in _CUES) - bool(_ABOUT_ONE.search(line)) - PER_NAME * particular


def _is_led_by_fact(line: str) -> bool:
    """Whether the first thing it asks is who, when, where or how many."""
    led = _LED_BY.search(line)
    return led is not None and led["fact"] is not None


def _relation_signals(line: str) -> Iterator[Signal]:
    if _COMPARISON.search(line) or _is_choice(line):
        yield Signal(QueryType.RELATIONSHIP, "comparison", RelationHint.COMPARISON)
    short = line.count(" ") < SHORT_QUESTION
    if _ASKED.search(line) or (short and _MENTIONED.search(line)):
        yield Signal(QueryType.RELATIONSHIP, "relation", RelationHint.RELATIONSHIP)
    if _EFFECT.search(line):
        yield Signal(QueryType.RELATIONSHIP, "effect", RelationHint.CAUSATION)
    if _REASON.search(line):
        yield Signal(QueryType.RELATIONSHIP, "reason", RelationHint.REASON)
    if any(True for _ in bridges(line.split(" "))):
        yield Signal(QueryType.RELATIONSHIP, "nested", RelationHint.GENERAL)


def _is_choice(line: str) -> bool:
    """Which is larger, N or N? Are N and N alike? Do the two work in the same team?"""
    words = set(line.split(" "))
    pair = bool(_PAIR.search(line))
    if line.split(" ", 1)[0] in AUXILIARIES and (pair or ("and" in words and words & {"both", "same"})):
        return True
    if _EITHER.search(line):
        return True
    if not any(re.fullmatch(_MORE, word) for word in words):
        return pair and bool(_TOGETHER.search(line))
    return bool(_CHOICE.search(line)) or (pair and bool(_TOGETHER.search(line) or words & {"which", "who"}))


# ---------------------------------------------------------------- what an answer hangs on


def bridges(texts: Sequence[str]) -> Iterator[int]:
    """Where in the words (names as `N`) something stands that the question needs on its way and does not name.

    who is the mother of the director of N -> 7, the director

    "Who is the director of N?" asks for the director, so there is none; "When was the director of N born?" has one.
    """
    asks = any(text in QUESTION_WORDS for text in texts)
    for at, text in enumerate(texts):
        if not text.isalpha() or text in _FUNCTION or text in _ABSTRACT or text == NAME:
            continue
        start = _phrase_start(texts, at)
        if start is None:
            continue
        told = _is_told(texts, start, at)
        belongs = _belongs(texts, start, at, asks=asks)
        asked = not (belongs and text in _DISTANT) and _is_asked_for(texts, start, at, told=told)
        if (told or belongs) and not asked:
            yield at


def _phrase_start(texts: Sequence[str], at: int) -> int | None:
    """Where the phrase with its noun at `at` begins: at its article, or at the owner before 's."""
    if texts[at - 1 : at] == [NAME] and (
        not _is_relational(texts[at]) or (_DO.intersection(texts[:at]) and texts[at + 1 : at + 2] != ["'s"])
    ):
        return None  # "did the N state that": behind a name it is a verb
    for start in range(at - 1, max(-1, at - 2 - MAX_MODIFIERS), -1):
        text = texts[start]
        if text in _DETERMINERS:
            return start
        if text == "'s":
            owner = max(0, start - 1)
            return owner - 1 if owner and texts[owner - 1] in _DETERMINERS else owner
        if not text[0].isalnum() or text in QUESTION_WORDS or text in AUXILIARIES or text in _PREPOSITIONS:
            break
    # "when did people who ..." has no article; nor has Northgate Fortress' designer
    if texts[at] in _PEOPLE and texts[at + 1 : at + 2] == ["who"]:
        return at
    return at - 1 if texts[at - 1 : at] == [NAME] and _AGENT.fullmatch(texts[at]) else None


def _is_relational(noun: str) -> bool:
    """Whether someone or something is it to another: mother, director, headquarters."""
    return noun in _KIN or noun in _OFFICES or (bool(_AGENT.fullmatch(noun)) and noun.rstrip("s") not in _NO_AGENTS)


def _is_person(noun: str) -> bool:
    return noun in _PEOPLE or noun in _KIN or bool(_AGENT.fullmatch(noun))


def _is_told(texts: Sequence[str], start: int, at: int) -> bool:
    """Whether a clause says which one is meant: the city where N was born, the person who wrote the guide.

    The clause holds a name, or tells of a person.
    """
    after = [text for text in texts[at + 1 : at + 5] if not text.endswith("ly")]
    first, second, *_ = [*after, "", ""]
    person = _is_person(texts[at])
    if person and (first, second) in _IN_CHARGE:
        return True
    clause = texts[at + 1 : at + 2 + MAX_COMPLEMENT]
    named = any(text == NAME or text.isdigit() for text in clause)
    if first in _PREPOSITIONS and second in {"which", "whom", "whose"}:
        return named
    if first in _RELATIVES:
        return named or (person and first == "who") or first == "whose" or _is_owner(texts, at)
    asked_by = texts[start - 1] if start else ""
    if named and asked_by not in _COPULAS and (first.endswith(("ed", "ing")) or first in _PARTICIPLES):
        return True  # the tower designed by N, the party following N; but "was the tower designed by N"
    return _is_contact_clause(texts, at)


def _is_contact_clause(texts: Sequence[str], at: int) -> bool:
    """Whether a clause without its pronoun follows: the college N attended, the company N is part of.

    Its verb stands behind the name, and the question has another one before.
    """
    behind = texts[at + 2 : at + 4] if texts[at + 1 : at + 2] == ["the"] else texts[at + 1 : at + 3]
    if len(behind) < 2 or behind[0] != NAME or texts[0] not in QUESTION_WORDS:
        return False
    if behind[1] in _COPULAS:
        return behind[1] != "'s"
    open_copula = texts[0] in {"what", "which", "how"} and not _COPULAS.isdisjoint(texts[:at])
    return behind[1].endswith("ed") and (open_copula or not _DO.isdisjoint(texts[:at]))


def _is_owner(texts: Sequence[str], at: int) -> bool:
    """Whether what belongs to it is asked for: the CEO of the company that ..."""
    start = next((it for it in range(at - 1, max(-1, at - 2 - MAX_MODIFIERS), -1) if texts[it] == "the"), 0)
    return start > 1 and texts[start - 1] == "of" and (texts[start - 2] == NAME or _is_relational(texts[start - 2]))


def _belongs(texts: Sequence[str], start: int, at: int, *, asks: bool) -> bool:
    """Whether it is told by what it belongs to: the employer of N, N's mother, the N manufacturer."""
    if not _is_relational(texts[at]):
        return False
    following = texts[at + 1] if at + 1 < len(texts) else ""
    if "'s" in texts[start:at]:
        owners = texts[start : start + 2]
        return (NAME in owners or any(map(_is_relational, owners))) and (texts[at] in _KIN or asks)
    if following in {"of", "for", "behind"} or (following == "in" and texts[at + 2 : at + 3] == [NAME]):
        complement = texts[at + 2 : at + 2 + MAX_COMPLEMENT]
        return asks or any(text == NAME or text.isdigit() for text in complement)
    return bool(_AGENT.fullmatch(texts[at])) and texts[at - 1] == NAME


def _is_asked_for(texts: Sequence[str], start: int, at: int, *, told: bool) -> bool:
    """Whether this is what the question is after: who is the director of, which author of."""
    before = _without_transparent(texts[:start])
    if not before:
        return not any(text in QUESTION_WORDS for text in texts[start + 2 :])
    last = before[-1]
    apposition = (last == "," and texts[start] == "the") or (last == NAME and bool(_COPULAS.intersection(before)))
    if last in QUESTION_WORDS or last in _ASKING or (not told and apposition):
        return True
    if last not in _COPULAS or len(before) < 2:
        return False
    asked, ends = before[-2], [text for text in texts if text[0].isalnum()][-1]
    if asked == "what" and ends in {"of", "from", "in"}:
        return False
    if asked in {"who", "what", "which"} or (asked == "where" and not _is_person(texts[at])):
        return True
    # Which city is the capital of N? But: what nationality is N's husband, what university is N's college part of?
    of_the_kind = before[0] in {"what", "which"} and before[-2].isalpha() and len(before) > 2
    return not told and of_the_kind and "'s" not in texts[start:at] and ends not in _PREPOSITIONS


def _without_transparent(before: Sequence[str]) -> list[str]:
    """`what is the name of` asks what `what is` asks."""
    kept = list(before)
    while len(kept) >= 2 and kept[-1] == "of" and kept[-2] in _TRANSPARENT:
        del kept[-2:]
        while kept and (kept[-1] in _DETERMINERS or kept[-1] in {"first", "last", "full", "real", "birth"}):
            kept.pop()
    return kept
