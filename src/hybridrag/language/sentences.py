"""Cut text into sentences: English, Japanese, and scripts with stops of their own.

Every stop is looked at once and every look around it is bounded, so that the time is linear whatever the input.
"""

from __future__ import annotations

import re

MAX_QUOTE = 300
"""Longest quotation in characters that is kept in one piece; a page in 「」 is still cut into sentences."""

_LOOK_BACK = 24
"""Longest abbreviation that is looked for before a full stop, and longest word after it."""

_WIDE_STOPS = "。｡．！？؟۔।॥።፧។៕⸮"
_SENTENCE_QUOTES = "「『“"
_CLOSING = "\"'”’»)\\]}」』）］｝〉》】〕｣"
_EVENT = re.compile(
    rf"(?P<stop>[.!?…‥{_WIDE_STOPS}]++)(?P<close>(?:[{_CLOSING}]|\[\d{{1,3}}\])*+)|(?P<newline>[\n\r\x0b\x0c\x85\u2028\u2029]\s*+)"
)
_BRACKETS = re.compile("[「」『』（）｢｣]|\n[^\\S\n]*+\n")
_CLOSER_OF = {"「": "」", "『": "』", "（": "）", "｢": "｣"}
_LIST_ITEM = re.compile(
    r"[-*+–—][ \t\u3000]|[•・●○◎◆◇■□▪▫‣※▼▲☆★【①-⑳㉑-㉟]|#{1,6}[ \t]|\||[(（]?[0-9０-９]{1,3}[)）.．、][ \t]?(?!\d)"
    r"|[(（][a-zA-Zァ-ンア-オ]{1,3}[)）]|[a-zA-Z]\)[ \t]|第[0-9０-９一二三四五六七八九十百]{1,6}[条章節項]"
)
_QUOTATION_GOES_ON = re.compile("って|と(?:[言思叫聞考述答書呼い]|の[こ声])")
_WORD_BEFORE = re.compile(r"[\w.'-]+\Z")
_WORD_AFTER = re.compile(rf"[\"'“‘(\[]*+(\w{{1,{_LOOK_BACK}}})")
_JAPANESE = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f]")
_DOTTED = re.compile(r"(?:\w\.)+\w")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_TITLES = _words(
    "mr mrs ms mx dr prof st rev hon sen rep gov gen col sgt capt lt cmdr adm maj fr messrs mme mlle "
    "e.g i.e cf vs viz fig figs eq eqs approx dept univ assn est resp incl excl ext tel ed eds trans al"
)
"""Never the end of a sentence when a capital follows: Dr. Smith, e.g. Paris, et al. The."""

_NUMBERED = _words("no nos vol vols p pp ch sec art para ref refs tab pt pg op ser")
"""The end of a sentence unless a number follows: No. 5, but "he said no. Then"."""

_MAY_END = _words(
    "etc inc ltd co corp llc plc bros jr sr u.s u.k u.s.a u.n e.u a.m p.m d.c ph.d m.d b.a m.a b.c a.d ave "
    "blvd rd mt ft jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri"
)
"""The end of a sentence only when the next word looks like a beginning."""

_BEGINNINGS = _words(
    "the a an this that these those it he she we they i you his her its our their my your there here in on at by for "
    "from with after before when while if as since although though because however but and so yet then thus "
    "therefore moreover furthermore meanwhile what who why how where which is are was were do does did no not"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of every sentence, in order; together they cover every character that is not white space.

    A blank line always ends one. A single line end does not, unless a list item follows: lines are wrapped.

    "Dr. Smith left. He was late." -> [(0, 15), (16, 28)]; "「はい。」と言った。次。" -> [(0, 10), (10, 12)]
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for border in [*_borders(text), len(text)]:
        piece = text[start:border]
        body = piece.strip()
        if body:
            first = start + len(piece) - len(piece.lstrip())
            spans.append((first, first + len(body)))
        start = border
    return spans


def _borders(text: str) -> list[int]:
    quotes = _quotations(text)
    borders: list[int] = []
    at = 0
    for match in _EVENT.finditer(text):
        while at < len(quotes) and quotes[at][1] < match.end():
            at += 1
        if at < len(quotes) and quotes[at][0] < match.start():
            continue
        is_end = _is_sentence_end if match["newline"] is None else _is_paragraph_end
        if is_end(text, match):
            borders.append(match.end())
    return borders


def _quotations(text: str) -> list[tuple[int, int]]:
    """Outermost short quotations and full-width brackets that close within their paragraph, in order."""
    found: list[tuple[int, int]] = []
    open_brackets: list[tuple[str, int]] = []
    for match in _BRACKETS.finditer(text):
        sign = match[0]
        if sign in _CLOSER_OF:
            open_brackets.append((_CLOSER_OF[sign], match.start()))
        elif sign.startswith("\n"):
            open_brackets.clear()
        elif open_brackets and open_brackets[-1][0] == sign:
            start = open_brackets.pop()[1]
            if match.start() - start <= MAX_QUOTE:
                while found and found[-1][0] > start:
                    found.pop()
                found.append((start, match.start()))
    return found


def _is_paragraph_end(text: str, match: re.Match[str]) -> bool:
    gap = match["newline"].replace("\r\n", "\n")
    lines = sum(gap.count(sign) for sign in "\n\r\x0b\x85\u2028")
    if lines > 1 or "\x0c" in gap or "\u2029" in gap:
        return True
    # Japanese paragraphs open with a full-width space instead of a blank line.
    return gap.endswith("\u3000") or _LIST_ITEM.match(text, match.end()) is not None


def _is_sentence_end(text: str, match: re.Match[str]) -> bool:
    stop, end = match["stop"], match.end()
    if end == len(text):
        return True
    if stop[-1] in _WIDE_STOPS:
        return _is_wide_end(text, match)
    if not text[end].isspace():
        # "です.次": no space after an ASCII stop in Japanese; "Yahoo!ニュース" and "vue.js" are one word.
        before = text[match.start() - 1] if match.start() else ""
        return bool(_JAPANESE.match(before) and (_JAPANESE.match(text[end]) or text[end] in _SENTENCE_QUOTES))
    following = _next_visible(text, end)
    if following == len(text) or text[following].islower():
        return following == len(text)
    return stop != "." or not _is_abbreviation(text, match.start(), following)


def _is_wide_end(text: str, match: re.Match[str]) -> bool:
    stop, close, end = match["stop"], match["close"], match.end()
    after = text[end]
    if after.isspace():
        return True
    if any(sign in "」』｣）" for sign in close):
        return after in _SENTENCE_QUOTES
    if stop[-1] in "！？" and _QUOTATION_GOES_ON.match(text, end):
        return False
    # "１．５": a full-width full stop between digits is a decimal point.
    return not (stop == "．" and match.start() and text[match.start() - 1].isdigit() and after.isdigit())


def _next_visible(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _is_abbreviation(text: str, stop: int, following: int) -> bool:
    """Whether the full stop at `stop` belongs to the word before it."""
    found = _WORD_BEFORE.search(text[max(0, stop - _LOOK_BACK) : stop])
    if found is None:
        return False
    raw = found[0].lstrip("'-.")
    word = raw.casefold()
    if word in _TITLES:
        return True
    if word in _NUMBERED:
        return text[following].isdigit()
    if raw.isdigit():
        return _opens_line(text, stop - len(raw))
    is_initial = len(raw) == 1 and raw.isupper() and raw != "I"
    if word in _MAY_END or is_initial or _DOTTED.fullmatch(raw):
        after = _WORD_AFTER.match(text, following)
        return after is not None and after[1].casefold() not in _BEGINNINGS
    return False


def _opens_line(text: str, start: int) -> bool:
    """Whether only white space stands before `start` on its line: "1. Introduction"."""
    before = text[max(0, start - _LOOK_BACK) : start]
    return not before.rpartition("\n")[2].strip()
