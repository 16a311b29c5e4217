"""English sentences and their mentions -> facts, by the words between the names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hybridrag.graph.guess_type import ROLE_TYPES
from hybridrag.graph.mentions import Mention
from hybridrag.graph.words import DEMONYMS, PERSON_ROLES, PLACE_ROLES, word_set
from hybridrag.types.extraction import Fact, FactKind
from hybridrag.types.graph import EntityType

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,;()–-]")
_BE = word_set("is was are were be been being became becomes remains remained")
_HELPERS = _BE | word_set(
    """
    has have had will would did does do may can could also then later first soon subsequently originally previously
    currently formerly recently again eventually jointly successfully officially briefly who which that and
    """
)
_ARTICLES = word_set("a an the one his her its their this that both")
_ATTRIBUTIVE = word_set("a an the his her its their s")
_POSSESSORS = word_set("his her its their")
_PREPOSITIONS = word_set(
    "in at on of by to from for with as into against under near after over through between among within across around "
    "during since until before via onto"
)
_PLACING = word_set("in at near on within outside")
_NO_VERBS = word_set("united hundred indeed based called named used aged so-called sacred biased")
_VERBS = word_set(
    """
    wrote writes won wins led leads left leaves met meets made makes built builds held holds gave gives took takes
    taught teaches sang sings ran runs began begins bought buys sold sells sent sends shot shoots drew draws knew knows
    found finds fought fights grew grows lost loses paid pays saw sees stood stands beat beats broke brought chose came
    comes drove fell flew got gets hit kept lay lies born borders contains includes uses supports owns operates covers
    produces directs stars plays serves lives works studies joins acquires develops designs publishes releases provides
    offers requires creates forms features hosts manages represents employs distributes replaces extends implements
    calls imports depends belongs went written sung drawn known based named sits taken given shown chosen driven grown
    begun reports heads chairs replies takes answers
    """
)
_CLAUSES = word_set("when while because although if where that who which but whose whereas than not")
_CREATES = word_set("founded established created released published formed built designed opened invented composed")
"""The time of these is the time of their object: "X founded Y in 1999"."""
_CARRIES_ON = word_set("he she it they his her its their this these")
_RELATIVES = (
    PERSON_ROLES
    | PLACE_ROLES
    | word_set("headquarters parent subsidiary owner member part capital leader author head lead chair successor")
    | word_set("predecessor supplier customer landlord tenant contractor operator representative contact deputy warden")
)

SAID, READ, CARRIED = 0.8, 0.65, 0.5
"""How sure: both names beside the verb; one step away; the subject is that of an earlier sentence."""
_MAX_BRIDGE = 160
_PARTED = re.compile(r"\||\n\s*[^\w\s\"'“(]|\n\s*\n")  # cells, list items and paragraphs say nothing of one another
_MAX_AFTER_VERB = 4
_MAX_PHRASE = 8


@dataclass(slots=True)
class _Sentence:
    """One sentence on the way: what it is about, and what was said last."""

    start: int
    end: int
    topic: str | None
    carried: bool
    former: str | None = None
    """What the sentences before were about: whom "her" means."""
    verb: str = ""
    owner: str | None = None
    """Whom later dates and places belong to."""
    facts: list[Fact] = field(default_factory=list)

    def add(self, subject: str | None, predicate: str, target: str | None, confidence: float, kind: FactKind) -> None:
        """Keep a fact unless a side is missing or both are one."""
        if subject and target and subject != target:
            sure = min(confidence, CARRIED) if self.carried and self.topic in {subject, target} else confidence
            self.facts.append(Fact(subject, predicate, target, self.start, self.end, sure, kind))


def english_facts(
    text: str, spans: Sequence[tuple[int, int]], mentions: Sequence[Mention], *, topic: str | None = None
) -> list[Fact]:
    """Facts of every sentence; `topic` is the key of what the document is about, for sentences that say "he" or "it".

    "Ann Lee founded Acme Corp in 1999." -> (ann lee, founded, acme corp), (acme corp, founded in, 1999)
    """
    facts: list[Fact] = []
    recent: dict[EntityType, str] = {}
    for start, end in spans:
        row = [mention for mention in mentions if start <= mention.start and mention.end <= end]
        sentence = _opened(text, (start, end), row, topic, _referred(text, start, recent))
        sentence.former = topic
        for at, mention in enumerate(row):
            _relate(text, sentence, row, at, mention)
        facts.extend(sentence.facts)
        recent.update({mention.type: mention.key for mention in reversed(row)})
        topic = sentence.topic or topic
    return list(dict.fromkeys(facts))


def _referred(text: str, start: int, recent: Mapping[EntityType, str]) -> str | None:
    """Whom "the company" at the beginning of a sentence means: the last name of that kind."""
    words = [word.lower() for word in _WORD.findall(text[start : start + 40])[:3]]
    if words[:1] not in (["the"], ["this"]):
        return None
    return next((recent[ROLE_TYPES[word]] for word in words[1:] if ROLE_TYPES.get(word) in recent), None)


def _opened(
    text: str, span: tuple[int, int], row: Sequence[Mention], topic: str | None, referred: str | None
) -> _Sentence:
    """A sentence with its topic: of "he" the topic so far, else the first name that no preposition governs."""
    start, end = span
    first_word = next(iter(_WORD.findall(text[start : start + 30].lower())), "")
    if first_word in _CARRIES_ON:
        return _Sentence(start, end, topic, carried=True)
    for mention in row:
        if mention.start - start > _MAX_BRIDGE:
            break
        if mention.type is EntityType.TIME or mention.name.lower() in DEMONYMS:
            continue
        before = _WORD.findall(text[start : mention.start].lower())
        if before and before[-1] in _BE and set(before) & _RELATIVES:
            return _Sentence(start, end, topic, carried=True)  # "The director is X": of what, was said before
        if len(before) > _MAX_PHRASE or (before and (before[-1] in _PREPOSITIONS or _verb_at(before) is not None)):
            break
        if text[mention.end : mention.end + 2] not in {"'s", "’s"}:
            return _Sentence(start, end, mention.key, carried=False)
    return _Sentence(start, end, referred, carried=True)


def _relate(text: str, sentence: _Sentence, row: Sequence[Mention], at: int, mention: Mention) -> None:
    _as_done_to(text, sentence, mention)
    left = row[at - 1] if at else None
    begin = left.end if left else sentence.start
    bridge = text[begin : mention.start]
    if len(bridge) > _MAX_BRIDGE or _PARTED.search(bridge):
        return
    words = [word.lower() for word in _WORD.findall(bridge)]
    if left and (_as_place(text, sentence, left, mention, words) or _as_life(text, sentence, left, mention, words)):
        return
    if _as_role_holder(text, sentence, row, at, words) or _as_agent(sentence, left, mention, words):
        return
    if _as_verb(sentence, left, mention, words):
        _with_listed(text, sentence, row, at)
        return
    if _as_role(sentence, left, mention, words) or _as_possessive(text, sentence, row, at, words):
        return
    if left and not (_as_between(text, sentence, left, mention, words) or _as_listed(sentence, left, mention, words)):
        _as_further(sentence, left, mention, words)


def _subject(sentence: _Sentence, left: Mention | None, before: Sequence[str]) -> tuple[str | None, float]:
    """Who does it: the name beside the verb, else the topic."""
    if left is None or left.type is EntityType.TIME or left.name.lower() in DEMONYMS:
        return sentence.topic, READ
    # "X, the director of Y, married": what a comma closes is an aside.
    aside = before[:1] == [","] and any(
        fact.object_key == left.key and fact.kind is not FactKind.VERB for fact in sentence.facts
    )
    plain = all(word in _HELPERS or word in {",", "("} for word in before) and before[:1] != ["and"]
    return (left.key, SAID) if plain and not aside else (sentence.topic, READ)


def _verb_at(words: Sequence[str]) -> int | None:
    """Where the last verb stands, if only a few words follow it."""
    for at in range(len(words) - 1, max(-1, len(words) - 2 - _MAX_AFTER_VERB), -1):
        word = words[at]
        if word in {";", ")"}:
            return None
        if at and words[at - 1] in _ATTRIBUTIVE:
            continue  # "the polarised society" has no verb
        past = word.endswith("ed") and len(word) > 4 and word not in _NO_VERBS
        if past or (word in _VERBS and word not in _NO_VERBS):
            return at if _governs(words, at) else None
    return None


def _governs(words: Sequence[str], at: int) -> bool:
    """Whether what follows is in the verb's clause, and the word is a verb: "formed when", "other works of" are out."""
    if set(words[at + 1 :]) & _CLAUSES:
        return False
    plural = words[at].endswith("s") and not words[at].endswith("ss")
    return not plural or (words[at + 1 : at + 2] != ["of"] and all(word in _HELPERS for word in words[:at]))


def _as_verb(sentence: _Sentence, left: Mention | None, mention: Mention, words: list[str]) -> bool:
    """X founded Y; Y was founded by X; X served as president of Y."""
    at = _verb_at(words)
    if at is None:
        return False
    verb, after = words[at], words[at + 1 :]
    subject, confidence = _subject(sentence, left, words[:at])
    if after[-1:] == ["by"] and len(after) > 1 and _BE.intersection(words[:at]):
        sentence.add(mention.key, f"{verb} {after[0]}", subject, confidence, FactKind.VERB)  # was taken over by X
    elif after[:1] == ["by"]:
        sentence.add(mention.key, verb, subject, confidence, FactKind.VERB)
        sentence.owner = subject
    else:
        sentence.add(subject, _predicate(verb, after), mention.key, confidence, FactKind.VERB)
        sentence.owner = mention.key if verb in _CREATES and mention.type is not EntityType.TIME else subject
    sentence.verb = verb
    return True


_PRONOUN_OBJECT = re.compile(r"\s+(\w+)\s+(?:him|her|them|it)\b(?!\s+\w+ed\b)")


def _as_agent(sentence: _Sentence, left: Mention | None, mention: Mention, words: list[str]) -> bool:
    """Y was founded in 1990 by X: the date stands between the verb and who did it."""
    telling = [word for word in words if word not in _ARTICLES]
    if telling != ["by"] or not sentence.verb or left is None or left.type is not EntityType.TIME:
        return False
    sentence.add(mention.key, sentence.verb, sentence.owner, READ, FactKind.VERB)
    return True


def _with_listed(text: str, sentence: _Sentence, row: Sequence[Mention], at: int) -> None:
    """A and B founded Y: the verb is of both."""
    fact = sentence.facts[-1] if sentence.facts else None
    place = at - 1
    while fact and place > 0 and row[place].key == fact.subject_key:
        if not _LISTED.fullmatch(text, row[place - 1].end, row[place].start):
            return
        place -= 1
        if row[place].type is EntityType.TIME:
            return
        fact = replace(fact, subject_key=row[place].key)
        sentence.facts.append(fact)


_LISTED = re.compile(r",?\s+(?:and|&)\s+|,\s+")
_OF_TAIL = re.compile(r"(\w+)\s+(?:of|at|for)\s+(?:the\s+|our\s+)?$")


def _as_role_holder(text: str, sentence: _Sentence, row: Sequence[Mention], at: int, words: list[str]) -> bool:
    """The director is X; Y's director is X; the director of Y is X."""
    phrase = [word for word in words if word not in {",", "now", "currently"}]
    if not phrase or phrase[-1] not in _BE or len(phrase) > _MAX_PHRASE or row[at].type is EntityType.TIME:
        return False
    mention, left = row[at], row[at - 1] if at else None
    role = phrase[-2] if len(phrase) > 1 else ""
    if left is None:
        owner = sentence.topic if phrase[0] in {"the", "our", "its", "their", "his", "her"} else None
    elif text[left.end : left.end + 2] in {"'s", "’s", "' ", "’ "}:
        owner = left.key
    elif len(phrase) == 1:
        tail = _OF_TAIL.search(text, sentence.start, left.start)
        role, owner = (tail.group(1).lower(), left.key) if tail else ("", None)
    else:
        return False
    if role not in _RELATIVES or owner is None:
        return False
    sentence.add(mention.key, f"{role} of", owner, CARRIED if left is None else SAID, FactKind.COPULA)
    return True


def _as_done_to(text: str, sentence: _Sentence, mention: Mention) -> None:
    """X succeeded her: whom, was said before."""
    match = _PRONOUN_OBJECT.match(text, mention.end, sentence.end)
    verb = match.group(1).lower() if match else ""
    if verb.endswith("ed") or verb in _VERBS:
        sentence.add(mention.key, verb, sentence.former, CARRIED, FactKind.VERB)


def _predicate(verb: str, after: Sequence[str]) -> str:
    """The verb with what leads to the object: "starred in", "served as president of"; "married" alone."""
    telling = [word for word in after if word not in _ARTICLES and word not in {",", "(", "-", "–"}]
    if not telling:
        return verb
    if telling[-1] in _PREPOSITIONS:
        return " ".join([verb, *telling])
    return f"{verb} {telling[0]}" if telling[0] in _PREPOSITIONS else verb


def _as_role(sentence: _Sentence, left: Mention | None, mention: Mention, words: list[str]) -> bool:
    """X is the director of Y; X, a singer from Y; X is an American."""
    be = max((at for at, word in enumerate(words) if word in _BE), default=None)
    phrase = words if be is None else words[be + 1 :]
    said = be is not None
    if mention.name.lower() in DEMONYMS:
        if said and all(word in _ARTICLES or word.isalnum() for word in phrase) and not set(phrase) & _PREPOSITIONS:
            subject, confidence = _subject(sentence, left, words[:be])
            sentence.add(subject, "is", mention.key, confidence, FactKind.COPULA)
        return said
    head = _head(phrase)
    if head is None or not (_is_predicate(phrase) if said else _is_apposition(left, phrase)):
        return False
    subject, confidence = _subject(sentence, left, words[:be] if said else [])
    sentence.add(subject, head, mention.key, confidence, FactKind.COPULA if said else FactKind.APPOSITION)
    return True


def _is_predicate(phrase: Sequence[str]) -> bool:
    """Whether "is" leads to the noun: "is the oldest city of", "became part of"; not "is 9 miles from the city of"."""
    return phrase[0] in _ARTICLES or len(phrase) <= 3


def _is_apposition(left: Mention | None, phrase: Sequence[str]) -> bool:
    if left is None or phrase[:1] != [","] or left.type is EntityType.TIME:
        return False
    return phrase[1] in _ARTICLES or phrase[-2] in _RELATIVES or phrase[-3] in _RELATIVES


def _head(phrase: Sequence[str]) -> str | None:
    """What a phrase turns on: "the director of the" -> "director of"."""
    words = list(phrase)
    while words and words[-1] in _ARTICLES:
        words.pop()
    if len(words) < 2 or len(words) > _MAX_PHRASE or words[-1] not in _PREPOSITIONS:
        return None
    head = words[-2]
    if not head.isalpha() or head in _HELPERS or head in _PREPOSITIONS or head in _ARTICLES:
        return None
    return f"{head} {words[-1]}"


def _as_possessive(text: str, sentence: _Sentence, row: Sequence[Mention], at: int, words: list[str]) -> bool:
    """Y's director X; his wife X; the director of Y, X."""
    mention, left = row[at], row[at - 1] if at else None
    telling = [word for word in words if word not in {",", "s"}]
    role = telling[-1] if telling else ""
    owned = left is not None and text[left.end : left.end + 2] in {"'s", "’s", "' ", "’ "}
    if left and owned and role in _RELATIVES and len(telling) <= 4:
        sentence.add(mention.key, f"{role} of", left.key, SAID, FactKind.POSSESSIVE)
        return True
    if len(telling) > 1 and telling[-2] in _POSSESSORS and role in _RELATIVES:
        sentence.add(mention.key, f"{role} of", sentence.topic, CARRIED, FactKind.POSSESSIVE)
        return True
    if left and words == [","] and at:
        start = row[at - 2].end if at > 1 else sentence.start
        head = _head([word.lower() for word in _WORD.findall(text[start : left.start])][-4:])
        if head and head.split(" ")[0] in _RELATIVES:
            sentence.add(mention.key, head, left.key, READ, FactKind.APPOSITION)
            return True
    return False


_LIST_GOES_ON = re.compile(r",?\s+(?:and|or)\s|,\s[^,.;]{1,40},?\s(?:and|or)\s")


def _as_place(text: str, sentence: _Sentence, left: Mention, mention: Mention, words: list[str]) -> bool:
    """Guri, Bolívar: the second holds the first."""
    both = left.type is EntityType.PLACE and mention.type is EntityType.PLACE
    if words != [","] or not both or left.name.lower() in DEMONYMS or mention.name.lower() in DEMONYMS:
        return False
    if _LIST_GOES_ON.match(text, mention.end):
        return False  # "Africa, Asia and Europe" lie beside one another
    sentence.add(left.key, "in", mention.key, READ, FactKind.PREPOSITION)
    last = sentence.facts[-2] if len(sentence.facts) > 1 else None
    if last and last.object_key == left.key and last.kind is FactKind.VERB:
        sentence.add(last.subject_key, last.predicate, mention.key, last.confidence, last.kind)
    return True


_SPAN = re.compile(r"[^()]{0,20}?(\d{4})\s?[–-][^()]{0,20}?(\d{4})\b")
_SHORTEST_LIFE = 15  # years: "(1991-1995)" behind a name is when someone went to school, or held an office


def _as_life(text: str, sentence: _Sentence, left: Mention, mention: Mention, words: list[str]) -> bool:
    """X (1911 - 1971)."""
    if mention.type is not EntityType.TIME:
        return False
    lived = text[mention.end : mention.end + 3].strip()[:1] in {"–", "-"}
    if words == ["("] and left.type is EntityType.PERSON and lived:
        years = _SPAN.match(text, mention.start)
        if years and int(years.group(2)) - int(years.group(1)) < _SHORTEST_LIFE:
            return True
        sentence.add(left.key, "born", mention.key, READ, FactKind.APPOSITION)
        sentence.verb, sentence.owner = "died", left.key
        return True
    born = bool(sentence.facts) and sentence.facts[-1].predicate == "born"
    if words in (["–"], ["-"]) and born and left.type is EntityType.TIME:
        sentence.add(sentence.facts[-1].subject_key, "died", mention.key, READ, FactKind.APPOSITION)
        return True
    return False


def _as_listed(sentence: _Sentence, left: Mention, mention: Mention, words: list[str]) -> bool:
    """X directed A, B and C."""
    telling = [word for word in words if word not in _ARTICLES]
    listed = bool(telling) and all(word in {",", "and", "or", "with"} for word in telling)
    if not listed or left.type is EntityType.TIME or mention.type is EntityType.TIME:
        return False
    for fact in reversed(sentence.facts):
        if fact.object_key == left.key:
            sentence.add(fact.subject_key, fact.predicate, mention.key, fact.confidence, fact.kind)
            return True
        if fact.subject_key == left.key and fact.object_key != mention.key and fact.kind is FactKind.VERB:
            sentence.add(mention.key, fact.predicate, fact.object_key, fact.confidence, fact.kind)
            return True
    return False


_BETWEEN = re.compile(r"(\w+)\s+between\s+(?:the\s+)?$")


def _as_between(text: str, sentence: _Sentence, left: Mention, mention: Mention, words: list[str]) -> bool:
    """The contract between X and Y."""
    said = _BETWEEN.search(text, sentence.start, left.start) if words[:1] == ["and"] and len(words) <= 2 else None
    if said is None or left.type is EntityType.TIME or mention.type is EntityType.TIME:
        return False
    sentence.add(left.key, f"{said.group(1).lower()} with", mention.key, SAID, FactKind.PREPOSITION)
    return True


def _as_further(sentence: _Sentence, left: Mention, mention: Mention, words: list[str]) -> None:
    """... in 1999, at Y: when and where the last verb happened, or where the name before lies."""
    telling = [word for word in words if word not in _ARTICLES and word not in {",", ")", "("}]
    if not telling or telling[0] not in _PREPOSITIONS or len(telling) > 3:
        return
    when_or_where = mention.type in {EntityType.TIME, EntityType.PLACE}
    if sentence.verb and sentence.owner and when_or_where:
        sentence.add(sentence.owner, f"{sentence.verb} {telling[0]}", mention.key, READ, FactKind.VERB)
    located = mention.type is EntityType.PLACE and left.type in {
        EntityType.PLACE,
        EntityType.ORGANISATION,
        EntityType.EVENT,
    }
    if located and telling[0] in _PLACING | {"of"} and left.name.lower() not in DEMONYMS:
        sentence.add(left.key, telling[0], mention.key, CARRIED, FactKind.PREPOSITION)
