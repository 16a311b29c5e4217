"""A text -> the pairs of names that it says are one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hybridrag.graph.marks import Span, is_inside
from hybridrag.graph.mentions import AliasKind, AliasRecord, Mention, Source
from hybridrag.graph.names import is_japanese, name_key
from hybridrag.language.morphemes import morphemes
from hybridrag.types.graph import EntityType

_SHORT_IN_BRACKETS = re.compile(r"[(（]\s*[\"“「『]?([A-Z][A-Za-z0-9&./-]{1,11})[\"”」』]?\s*[)）;,、]")
_SHORT_BEFORE_BRACKETS = re.compile(r"\b([A-Z][A-Za-z0-9&-]{1,9})\s?[(（]([A-Za-z][^()（）]{4,90})[)）]")
_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")
_ACRONYM_CONFIDENCE = 0.85
_MAX_LONG_FORM = 200  # characters
_EXTRA_WORDS = 5  # Schwartz and Hearst, PSB 2003: a long form has at most |short| + 5 words, and 2 |short|


def acronyms(text: str, skip: list[Span]) -> Iterator[tuple[AliasRecord, Mention, Mention]]:
    """Long and short forms that stand beside each other, in either order.

    "Retrieval-Augmented Generation (RAG)" -> alias rag of retrieval augmented generation
    """
    for match in _SHORT_IN_BRACKETS.finditer(text):
        short = match.group(1).rstrip(".")
        first = max(0, match.start() - _MAX_LONG_FORM)
        before = text[first : match.start()].rstrip()
        start = _long_form_start(before, short)
        if start is not None and not is_inside(first + start, match.end(), skip):
            long = (first + start, first + len(before))
            yield _acronym(text, long, (match.start(1), match.start(1) + len(short)))
    for match in _SHORT_BEFORE_BRACKETS.finditer(text):
        start = _long_form_start(match.group(2), match.group(1))
        if start is not None and not is_inside(*match.span(), skip):
            yield _acronym(text, (match.start(2) + start, match.end(2)), match.span(1))


def _acronym(text: str, long: Span, short: Span) -> tuple[AliasRecord, Mention, Mention]:
    first, second = (_form(text, span) for span in (long, short))
    start, end = min(long[0], short[0]), max(long[1], short[1])
    return AliasRecord(first.key, second.key, AliasKind.ACRONYM, start, end), first, second


def _form(text: str, span: Span) -> Mention:
    name = text[span[0] : span[1]]
    kind = EntityType.CONCEPT if name[0].islower() else EntityType.OTHER
    return Mention(name, name_key(name), kind, *span, _ACRONYM_CONFIDENCE, Source.ACRONYM)


def _long_form_start(before: str, short: str) -> int | None:
    """Where the long form of `short` begins in the text that ends with it; None where there is none.

    Schwartz and Hearst's search from right to left; the first letter must begin a word.
    """
    letters = [char.lower() for char in short if char.isalnum()]
    capitals = sum(char.isupper() for char in short)
    if capitals < 2 or len(letters) < 2:
        return None
    words = list(_WORD.finditer(before))
    limit = min(len(letters) + _EXTRA_WORDS, len(letters) * 2)
    window = words[-limit:]
    if not window or window[-1].end() != len(before.rstrip('"”')):
        return None
    at = len(before) - 1
    first = window[0].start()
    for number, letter in reversed(list(enumerate(letters))):
        while at >= first and not (
            before[at].lower() == letter and (number > 0 or at == 0 or not before[at - 1].isalnum())
        ):
            at -= 1
        if at < first:
            return None
        at -= 1
    start = at + 1
    return start if _is_telling(before[start:], letters) else None


def _is_telling(long: str, letters: list[str]) -> bool:
    words = _WORD.findall(long)
    initials = {word[0].lower() for word in words}
    # At least two letters must begin words: "Marketing (MT)" is no acronym, "machine translation (MT)" is.
    return len(words) >= 2 and len(initials & set(letters)) >= 2 and "." not in long and "," not in long


_ADVERB = (
    r"(?:(?:also|better|formerly|commonly|otherwise|widely|sometimes|popularly|previously|originally|professionally|"
    r"officially|simply|or)\s+)"
)
_ALSO_KNOWN = re.compile(
    rf"\s*,?\s*[(（]?\s*(?:{_ADVERB}*"
    r"(?:known(?:\s+\w+)?\s+as|referred\s+to\s+as|aka|a\.k\.a\.|nicknamed|short\s+for|abbreviated\s+(?:as|to)|née|formerly)"
    # "a place in London called the Steelyard": alone, the word leads to something else.
    rf"|{_ADVERB}+called)"
    r"\s+(?:the\s+)?[\"“']?",
    re.IGNORECASE,
)
_MAX_BRIDGE = 50


def also_known_as(text: str, mentions: Sequence[Mention]) -> Iterator[AliasRecord]:
    """Neighbouring mentions that the text joins by "also known as" and the like.

    "ELAM, formerly known as LASM" -> alias lasm of elam
    """
    for left, right in pairwise(mentions):
        bridge = text[left.end : right.start]
        if len(bridge) <= _MAX_BRIDGE and left.key != right.key and _ALSO_KNOWN.fullmatch(bridge):
            yield AliasRecord(left.key, right.key, AliasKind.ALSO_KNOWN_AS, left.start, right.end)


# ---------------------------------------------------------------- Japanese brackets

_BRACKETS = re.compile(r"[」』]?\s?[（(]([^（）()\n]{1,60})[）)]")
_LABEL = re.compile(
    r"^(?:(?:英語|英名|英称|英語表記|英文名|英訳|仏語|独語|略称|通称|別名|別称|旧称|旧名|愛称|正式名称|本名|芸名|原題|原語|以下)"
    r"(?:は|では|で|[:：、])?"
    # A single character begins many a word: 中東欧諸国, 西インド諸島.
    r"|[英仏独西伊露中韓略][:：、])\s*"
)
_CALLED = re.compile(
    r"^(?:以下|以後)[、,]?\s*(?:単に|略して)?[「『\"“]?([^「」『』\"”、,]{1,30}?)[」』\"”]?(?:と(?:いう|する|呼ぶ|表記|略|記)[^」]*)?$"
)
_PART_END = re.compile(r"[、,;；/／]")
_HIRAGANA = re.compile(r"^[ぁ-ゖー\s　・]+$")
_LATIN_NAME = re.compile(r"^[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ0-9\s.&'’+\-!]*$")
_MIN_SCRIPT = 3  # letters: (n) and (vs) behind a word say what it is
_KATAKANA_NAME = re.compile(r"^[ァ-ヺー・＝=\s　]+$")
_KANJI = re.compile(r"[一-鿿々]")
_SIMPLE_KANJI = 2  # characters; longer words are most often made of several


def is_common_word(text: str) -> bool:
    """Whether the dictionary has it as a simple word that names no particular thing.

    "オンライン", "砂" -> True; "大槻", "国際連合", "砂の器" -> False
    """
    simple = len(text) <= _SIMPLE_KANJI or _KATAKANA_NAME.match(text) is not None
    words = morphemes(text) if simple and is_japanese(text) else ()
    return len(words) == 1 and not words[0].unknown and "固有名詞" not in words[0].pos


def bracket_aliases(text: str, mentions: Sequence[Mention]) -> Iterator[AliasRecord]:
    """Names that stand in brackets right behind a name.

    "山田太郎（やまだたろう）" -> reading, "ジョン・スミス（John Smith）" -> script, "青空社（以下「青空」）"
    """
    for mention in mentions:
        match = _BRACKETS.match(text, mention.end)
        # What stands behind a word that names no particular thing says which one is meant: サーバー（Web）.
        if not match or mention.type is EntityType.TIME or is_common_word(mention.name):
            continue
        for name, kind in _inside_brackets(mention.name, match.group(1)):
            key = name_key(name)
            if key and key != mention.key:
                yield AliasRecord(mention.key, key, kind, mention.start, match.end())


def _inside_brackets(name: str, inside: str) -> Iterator[tuple[str, AliasKind]]:
    called = _CALLED.match(inside)
    if called:
        short = called.group(1).strip()
        if len(short) > 1:  # 甲 and 乙 are others in the next contract
            yield short, AliasKind.ALSO_KNOWN_AS
        return
    for part in _PART_END.split(inside):
        label = _LABEL.match(part.strip())
        bare = part.strip()[label.end() :] if label else part.strip()
        kind = _bracket_kind(name, bare.strip('「」『』"“” '), labelled=label is not None)
        if kind is None:
            return  # what comes after a date or a remark is no name
        yield bare.strip('「」『』"“” '), kind


def _bracket_kind(name: str, part: str, *, labelled: bool) -> AliasKind | None:
    if _HIRAGANA.match(part) and _KANJI.search(name):
        return AliasKind.READING
    if _LATIN_NAME.match(part):
        if part.isupper() and 2 <= len(part) <= 8 and " " not in part:
            return AliasKind.ACRONYM
        # Two names in one script are a name and a remark: "skimming (a book)".
        is_pair = is_japanese(name) and len(part) >= _MIN_SCRIPT
        return AliasKind.SCRIPT if is_pair or labelled else None
    if _KATAKANA_NAME.match(part) and is_common_word(part):
        return None  # 大槻（オンライン）
    if _KATAKANA_NAME.match(part) and (_LATIN_NAME.match(name) or _KANJI.search(name)):
        return AliasKind.SCRIPT if _LATIN_NAME.match(name) else AliasKind.READING
    return AliasKind.ALSO_KNOWN_AS if labelled and part else None
