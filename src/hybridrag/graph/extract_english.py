"""An English chunk -> its names, read off from how they are written; no model, no list of names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from hybridrag.graph.aliases import acronyms, also_known_as
from hybridrag.graph.english_names import LIKELY, TITLE_CONNECTORS, Surroundings, names, survey
from hybridrag.graph.english_tokens import Token, tokens_of
from hybridrag.graph.guess_type import (
    FORM,
    HINTED,
    NOTHING,
    SAID,
    UNKNOWN,
    Guess,
    guess_english,
    share_between_aliases,
    with_guess,
)
from hybridrag.graph.link import plain_title
from hybridrag.graph.marks import Span, addresses, code_terms, context_mentions, dates, is_inside, labels
from hybridrag.graph.mentions import AliasRecord, Context, Extraction, Mention, Source, without_overlaps
from hybridrag.graph.names import name_key
from hybridrag.graph.words import (
    EVENT_HEADS,
    ORGANISATION_HEADS,
    PARTICLES,
    PLACE_HEADS,
    SENTENCE_OPENERS,
    WORK_HEADS,
)
from hybridrag.types.graph import EntityType

MIN_CONFIDENCE = 0.4
_SHOUTED_WORDS = 4

# ---------------------------------------------------------------- quotations

_QUOTED = re.compile(
    r"[\"“]([^\"“”\n]{2,90})[\"”]"
    r"|(?<![\w*_])([*_])(?=[^\s*_])([^*_\n]{2,90}?)(?<=[^\s*_])\2(?![\w*_])"  # *italics* of Markdown
)
_MAX_TITLE_WORDS = 12
_CAPITAL_SHARE = 0.7


def quotations(text: str, skip: list[Span]) -> Iterator[Mention]:
    """Titles in quotation marks or italics.

    'the song "Worry Worry Worry"' -> "Worry Worry Worry"
    """
    for match in _QUOTED.finditer(text):
        group = 1 if match.group(1) else 3
        name = match.group(group).strip(" ,.;")
        start = text.index(name, match.start(group))
        words = name.split()
        if not _is_title(words) or is_inside(start, start + len(name), skip):
            continue
        if len(words) == 1 and _within_name(text, match.start(), match.end()):
            continue
        yield Mention(name, name_key(name), EntityType.WORK, start, start + len(name), LIKELY, Source.QUOTE)


def _is_title(words: list[str]) -> bool:
    """Most words that matter have a capital, the first one too."""
    telling = [word for word in words if word.lower() not in TITLE_CONNECTORS and word.lower() not in PARTICLES]
    if not telling or len(words) > _MAX_TITLE_WORDS or not words[0].lstrip("'’(")[:1].isupper():
        return False
    capitals = sum(word.lstrip("'’(")[:1].isupper() or word[:1].isdigit() for word in telling)
    return capitals >= _CAPITAL_SHARE * len(telling) and (len(words) > 1 or words[0].lower() not in SENTENCE_OPENERS)


def _within_name(text: str, start: int, end: int) -> bool:
    """Whether a quoted word is a nickname inside a name: Wilfried "Willi" Schneider."""
    before = text[max(0, start - 2) : start]
    return before[:1].isalpha() and before[1:] == " " and text[end + 1 : end + 2].isupper()


# ---------------------------------------------------------------- the whole


def extract_english(text: str, context: Context) -> Extraction:
    """Names, titles, terms, dates and aliases of an English text.

    "Apple Inc. hired John Smith in Paris." -> Apple Inc. (organisation), John Smith (person), Paris (place)
    """
    skip = addresses(text) + labels(text)
    found = [*code_terms(text, skip), *quotations(text, skip)]
    rows = tokens_of(text)
    around = survey(rows, context, addresses(text))
    taken = skip + [(mention.start, mention.end) for mention in found]
    found.extend(dates(text, skip, japanese=False))
    for tokens in rows:
        found.extend(_row_mentions(text, tokens, around, taken))
    short_forms = list(acronyms(text, skip))
    found.extend(mention for _, *pair in short_forms for mention in pair)
    found.extend(context_mentions(text, context))
    kept = without_overlaps(found)
    records = [record for record, *_ in short_forms] + list(also_known_as(text, kept))
    mentions = _typed(text, kept, records, around.small)
    whole = _under_whole_names(mentions, context)
    return Extraction(tuple(whole), tuple(sorted(records, key=lambda it: (it.start, it.end))))


def _row_mentions(text: str, tokens: Sequence[Token], around: Surroundings, taken: list[Span]) -> Iterator[Mention]:
    letters = [token.text for token in tokens if token.text.isalpha()]
    if len(letters) >= _SHOUTED_WORDS and all(word.isupper() for word in letters):
        return  # a line all in capitals says nothing about names
    for part, confidence in names(text, tokens, around):
        start, end = part[0].start, part[-1].end
        if confidence >= MIN_CONFIDENCE and not is_inside(start, end, taken):
            name = text[start:end]
            yield Mention(name, name_key(name), EntityType.OTHER, start, end, confidence, Source.NAME)


def _typed(text: str, mentions: list[Mention], records: list[AliasRecord], small: frozenset[str]) -> list[Mention]:
    """Each mention with the best guess that any place of its name or alias in the chunk gives."""
    best: dict[str, Guess] = {}
    for mention in mentions:
        guess = _guess(text, mention, small)
        if guess.strength > best.get(mention.key, UNKNOWN).strength:
            best[mention.key] = guess
    share_between_aliases(best, records)
    _share_among_listed(text, mentions, best)
    return [with_guess(mention, best.get(mention.key)) for mention in mentions]


def _guess(text: str, mention: Mention, small: frozenset[str]) -> Guess:
    if mention.source in {Source.CODE, Source.DATE}:
        return Guess(mention.type, FORM)
    guess = guess_english(text, mention.start, mention.end, small=small)
    if mention.source is Source.QUOTE and guess.strength != SAID:
        return Guess(EntityType.WORK, SAID)  # "The Old House" in quotation marks is no house
    return guess if guess.strength else Guess(mention.type, NOTHING)


_LISTED = re.compile(r"\s*(?:,|,?\s+(and|or))\s+(?:the\s+)?")


def _share_among_listed(text: str, mentions: list[Mention], best: dict[str, Guess]) -> None:
    """Names of one list are of one kind: "Denmark, Germany and Skåne"."""
    for chain in _chains(text, mentions):
        sure = [guess for it in chain if (guess := best.get(it.key, UNKNOWN)).strength >= SAID]
        if sure and sure[0].type is not EntityType.TIME:
            open_keys = [it.key for it in chain if best.get(it.key, UNKNOWN).strength <= HINTED]
            best.update(dict.fromkeys(open_keys, Guess(sure[0].type, HINTED)))


def _chains(text: str, mentions: list[Mention]) -> Iterator[list[Mention]]:
    """Mentions that nothing but commas, "and" and "or" part."""
    chain: list[Mention] = mentions[:1]
    joined = False
    for left, right in pairwise(mentions):
        joint = _LISTED.fullmatch(text, left.end, right.start)
        if joint:
            chain.append(right)
            joined = joined or bool(joint.group(1))
            continue
        # Two names with a comma between them may be anything: "Los Angeles, California", "the director of X, Y".
        if joined or len(chain) > 2:
            yield chain
        chain, joined = [right], False
    if joined or len(chain) > 2:
        yield chain


def _under_whole_names(mentions: list[Mention], context: Context) -> Iterator[Mention]:
    """Mentions with a family name or first name alone under the one whole name that it can stand for."""
    persons = {mention.key for mention in mentions if mention.type is EntityType.PERSON}
    whole = {key for key in persons | _named_by_title(context) if _may_be_person(key)}
    for mention in mentions:
        owners = [key for key in whole if mention.key in {key.split(" ")[0], key.split(" ")[-1]}]
        open_type = mention.type in {EntityType.PERSON, EntityType.OTHER} or mention.type_strength <= HINTED
        if len(owners) == 1 and open_type and mention.source in {Source.NAME, Source.TITLE}:
            yield replace(mention, key=owners[0], type=EntityType.PERSON)
        else:
            yield mention


def _named_by_title(context: Context) -> set[str]:
    """The key of a title that is written like a name: "Ann Lee", not "Leave and absence"."""
    title = plain_title(context.title or "")
    return {name_key(title)} if all(word[0].isupper() for word in title.split()) else set()


def _may_be_person(key: str) -> bool:
    words = key.split(" ")
    heads = ORGANISATION_HEADS | PLACE_HEADS | EVENT_HEADS | WORK_HEADS | {"of"}
    return 2 <= len(words) <= 4 and not set(words) & heads
