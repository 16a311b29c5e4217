"""A Japanese chunk -> its names, by part of speech, script and the words around them; no model, no list of names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hybridrag.graph.aliases import acronyms, bracket_aliases, is_common_word
from hybridrag.graph.guess_type import FORM, HINTED, SAID, UNKNOWN, Guess, share_between_aliases, with_guess
from hybridrag.graph.japanese_names import Kind, Name, Word, names, runs, words_of
from hybridrag.graph.japanese_words import ENDING_TYPES, GENERIC_ALONE, ROLE_TYPES
from hybridrag.graph.marks import Span, addresses, code_terms, context_mentions, dates, is_inside, labels
from hybridrag.graph.mentions import AliasKind, AliasRecord, Context, Extraction, Mention, Source, without_overlaps
from hybridrag.graph.names import name_key
from hybridrag.language.morphemes import morphemes
from hybridrag.language.sentences import sentences
from hybridrag.types.graph import EntityType

_QUOTED = re.compile(r"『([^『』\n]{1,50})』|「([^「」\n]{1,40})」|《([^《》\n]{1,40})》")
_SENTENCE_INSIDE = re.compile(r"[。！？!?]|(?:です|ます|でした|ました|ない|だ|た|る|か|よ|ね|を|は|が|に|で|て|と|も)$")
QUOTE_CONFIDENCE = 0.92
_BATTLE = re.compile(r"の(?:戦い|戦|乱|変|役|陣|海戦|合戦|政変|和約)(?![一-鿿])")
_KANA_ONLY = re.compile(r"[ぁ-ゖァ-ヺー\s]+$")
_YEAR_BEFORE = re.compile(r"\d{4}年$")


def extract_japanese(text: str, context: Context) -> Extraction:
    """Names, titles, terms, dates and aliases of a Japanese text.

    "株式会社青空の山田太郎氏" -> 株式会社青空 (organisation), 山田太郎 (person)
    """
    named_by_form = labels(text)
    skip = addresses(text)
    words = words_of(morphemes(text))
    guesses: dict[str, Guess] = {}
    days = list(dates(text, skip, japanese=True))
    found = [*code_terms(text, skip + named_by_form), *days]
    named = [
        it
        for it in _all_names(text, _without(words, days))
        if not is_inside(it.start, it.end, skip)
        # 真壁：15.6型にする: who speaks is no field of a form
        and (it.guess.type is EntityType.PERSON or not is_inside(it.start, it.end, named_by_form))
    ]
    found.extend(_mention(text, name, guesses) for name in named)
    found.extend(_quotations(text, skip, guesses))
    short_forms = list(acronyms(text, skip))
    found.extend(mention for _, *pair in short_forms for mention in pair)
    found.extend(context_mentions(text, context))
    kept = without_overlaps(found)
    records = [record for record, *_ in short_forms] + list(bracket_aliases(text, kept))
    _read_sentences(text, kept, guesses)
    mentions = _typed(_without_readings(kept, records), guesses, records)
    return Extraction(tuple(_under_whole_names(mentions)), tuple(sorted(records, key=lambda it: (it.start, it.end))))


def _without(words: Sequence[Word], days: Sequence[Mention]) -> list[Word]:
    """The words with those of dates made breaks: they belong to no name."""
    taken = {at for day in days for at in range(day.start, day.end)}
    return [word._replace(kind=Kind.OTHER) if word.start in taken else word for word in words]


def _without_readings(mentions: Sequence[Mention], records: Sequence[AliasRecord]) -> list[Mention]:
    """A reading in brackets is how a name sounds, and names nobody else: 山田太郎（やまだ たろう）."""
    spans = [(record.start, record.end) for record in records if record.kind is AliasKind.READING]
    return [
        mention
        for mention in mentions
        if not (_KANA_ONLY.match(mention.name) and any(start < mention.start < end for start, end in spans))
    ]


def _all_names(text: str, words: Sequence[Word]) -> Iterator[Name]:
    for run in runs(text, words):
        for name in names(run):
            yield _extended(text, name)


def _extended(text: str, name: Name) -> Name:
    """With the の戦い behind a place, or the year before an event: 関ヶ原の戦い, 1936年ベルリンオリンピック."""
    battle = _BATTLE.match(text, name.end)
    if battle and not name.is_term:
        return name._replace(end=battle.end(), guess=Guess(EntityType.EVENT, FORM), confidence=0.91)
    if name.guess.type is EntityType.EVENT:
        year = _YEAR_BEFORE.search(text[max(0, name.start - 5) : name.start])
        if year:
            return name._replace(start=name.start - len(year.group()))
    return name


def _mention(text: str, name: Name, guesses: dict[str, Guess]) -> Mention:
    surface = text[name.start : name.end]
    key = name_key(surface)
    if name.guess.strength > guesses.get(key, UNKNOWN).strength:
        guesses[key] = name.guess
    kind, source = (EntityType.CONCEPT, Source.NOUN) if name.is_term else (name.guess.type, Source.NAME)
    return Mention(surface, key, kind, name.start, name.end, name.confidence, source)


def _quotations(text: str, skip: list[Span], guesses: dict[str, Guess]) -> Iterator[Mention]:
    for match in _QUOTED.finditer(text):
        group = match.lastindex or 1
        name, start = match.group(group), match.start(group)
        if is_inside(*match.span(), skip) or not name.strip() or (group > 1 and _SENTENCE_INSIDE.search(name)):
            continue
        key = name_key(name)
        if group > 1 and is_common_word(name):
            continue  # 「その他」, 「砂」: a word that is set off
        role = _role_before(text, match.start())
        ending = next((ENDING_TYPES[name[-size:]] for size in range(6, 0, -1) if name[-size:] in ENDING_TYPES), None)
        kind = role or (ending if group > 1 else None) or EntityType.WORK
        if key and name not in GENERIC_ALONE:
            # 『』 set off titles; 「」 set off whatever is said or called so.
            guesses[key] = Guess(kind, FORM if role else SAID if group == 1 or kind is not EntityType.WORK else HINTED)
            yield Mention(name, key, kind, start, start + len(name), QUOTE_CONFIDENCE, Source.QUOTE)


def _role_before(text: str, at: int) -> EntityType | None:
    """映画『…』, 監督の…, プログラミング言語の…."""
    before = text[max(0, at - 12) : at]
    stem = before.removesuffix("の").removesuffix("・")
    role = next((ROLE_TYPES[stem[-size:]] for size in range(10, 0, -1) if stem[-size:] in ROLE_TYPES), None)
    if role is None and stem == before:
        role = next((ENDING_TYPES[stem[-size:]] for size in range(6, 1, -1) if stem[-size:] in ENDING_TYPES), None)
    # 「映画の…」 goes on about the film; 「監督の…」 and 「言語の…」 name whom they mean.
    return role if stem == before or role in {EntityType.PERSON, EntityType.PRODUCT} else None


def _read_sentences(text: str, mentions: list[Mention], guesses: dict[str, Guess]) -> None:
    """What sentences say of names: 「Xは、日本の歌手。」, 「監督のX」, 「X（1950年 - ）」."""
    ends = dict(sentences(text))
    for mention in mentions:
        if mention.source in {Source.DATE, Source.CODE, Source.NOUN}:
            continue
        said = _said(text, mention, ends)
        if said and guesses.get(mention.key, UNKNOWN).strength <= HINTED:
            guesses[mention.key] = Guess(said, SAID)


_LIFE = re.compile(r"[（(][^（）()]{0,40}?\d{3,4}年[^（）()]{0,20}\s?[-–〜~－]\s?")
_DEFINED = re.compile(r"(?:[（(][^（）()]*[）)])?(?:とは|は)、?")


def _said(text: str, mention: Mention, ends: dict[int, int]) -> EntityType | None:
    if text[mention.start - 1 : mention.start] == "の" or text[mention.start - 1 : mention.start] == "、":
        role = _role_before(text, mention.start)
        if role:
            return role
    if _LIFE.match(text, mention.end):
        return EntityType.PERSON
    opening = mention.start - (text[mention.start - 1 : mention.start] in {"「", "『"})
    after = mention.end + (text[mention.end : mention.end + 1] in {"」", "』"})
    if opening in ends and _DEFINED.match(text, after):
        return _role_at_end(text[after : ends[opening]])
    return None


_SENTENCE_TAIL = re.compile(
    r"(?:である|であった|だった|です|でした|だ|の(?:一つ|ひとつ|1つ|一種)(?:である|です)?|のこと)?。?$"
)


def _role_at_end(sentence: str) -> EntityType | None:
    stem = _SENTENCE_TAIL.sub("", sentence)
    for size in range(10, 0, -1):
        ending = stem[-size:]
        found = ROLE_TYPES.get(ending) or ENDING_TYPES.get(ending)
        if found:
            return found
    return EntityType.PERSON if stem.endswith(("家", "者", "手", "師", "員", "士")) else None


def _typed(mentions: list[Mention], guesses: dict[str, Guess], records: list[AliasRecord]) -> list[Mention]:
    share_between_aliases(guesses, records)
    fixed = {Source.DATE, Source.CODE, Source.NOUN}
    return [
        mention
        if mention.source in fixed and guesses.get(mention.key, UNKNOWN).strength < SAID
        else with_guess(mention, guesses.get(mention.key))
        for mention in mentions
    ]


def _under_whole_names(mentions: list[Mention]) -> Iterator[Mention]:
    """A family name or given name alone under the one whole name of the chunk that it can stand for."""
    whole = {mention.key for mention in mentions if mention.type is EntityType.PERSON}
    for mention in mentions:
        owners = [key for key in whole if key != mention.key and len(mention.key) >= 2 and _is_part(mention.key, key)]
        if len(owners) == 1 and mention.type in {EntityType.PERSON, EntityType.OTHER} and mention.source is Source.NAME:
            yield replace(mention, key=owners[0], type=EntityType.PERSON)
        else:
            yield mention


def _is_part(part: str, whole: str) -> bool:
    return whole.startswith(part) or whole.endswith(part)
