"""Japanese sentences and their mentions -> facts, by the particles behind the names and the verb they lead to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hybridrag.graph.japanese_words import HONORIFICS, PERSON_ROLES, PLAIN_HONORIFICS, ROLE_TYPES
from hybridrag.graph.mentions import Mention, Source
from hybridrag.graph.words import word_set
from hybridrag.language.morphemes import Morpheme, morphemes
from hybridrag.types.extraction import Fact, FactKind
from hybridrag.types.graph import EntityType

_CASES = word_set("を に で から へ と が は も")
_AGENT = re.compile(r"(?:によって|により|による|の手(?:で|によって))")
_HELPER_VERBS = word_set(
    "する いる ある なる れる られる できる おる くる いく しまう おく もらう いう よる かける 関する つく 対する 伴う "
    "通じる わたる 基づく"
)
_PASSIVES = word_set("れる られる")
_ATTRIBUTE = re.compile(r"の([^、。\sのはがをに]{1,12})は")
_SUCCESSOR = re.compile(r"の(後任)(?:として|には?|は)、?")
_OFFICE = re.compile(
    r"(?:^|[、。\s])(?:その|同社の|現在の|現)?([^\s、。はがをに]{0,8}?[長者役員当表師主])は、?(?:現在、?)?$"
)
_HOLDS = re.compile(r"(?:である|です|だ|でした|であった|が務め|。|$)")
_ROLE_THEN = re.compile(r"の([^、。\s（）「」『』のはがをにで]{1,12})")
_TITLE_ROLES = HONORIFICS - PLAIN_HONORIFICS
# The longest first: 総理大臣 is not 総理 and something more.
_HONORIFIC = re.compile("|".join(sorted(HONORIFICS, key=lambda word: (-len(word), word))))
_NO_ROLES = word_set("一つ ひとつ 1つ 一人 一種 一部 ほか 他 うち 中 後 前 際 時 ため こと もの 間 上 下 方")
_ORIGIN = re.compile(r"(出身|生まれ|在住|所属)")
_BRACKETS = re.compile(r"[」』]?(?:\s?[（(][^（）()]*[）)])?")
_CLAUSE_END = word_set("、 。 ・ ; ；")
_NOMINAL = frozenset({"名詞", "代名詞", "接尾辞"})
_MAX_TO_VERB = 14
"""Morphemes between a name and the verb that it belongs to."""

SAID, READ, CARRIED = 0.8, 0.65, 0.5


@dataclass(slots=True)
class _Sentence:
    start: int
    end: int
    topic: str | None
    carried: bool
    former: str | None = None
    """What the sentences before were about: whose 社長 is meant."""
    topic_start: int = -1
    """Where its own topic stands."""
    facts: list[Fact] = field(default_factory=list)

    def add(self, subject: str | None, predicate: str, target: str | None, confidence: float, kind: FactKind) -> None:
        """Keep a fact unless a side is missing or both are one."""
        if subject and target and subject != target and predicate:
            sure = min(confidence, CARRIED) if self.carried and self.topic in {subject, target} else confidence
            self.facts.append(Fact(subject, predicate, target, self.start, self.end, sure, kind))


def japanese_facts(
    text: str,
    spans: Sequence[tuple[int, int]],
    mentions: Sequence[Mention],
    *,
    topic: str | None = None,
    title: str = "",
) -> list[Fact]:
    """Facts of every sentence; `topic` is the key of what the document is about, for sentences without a subject.

    `title` is the key of its title, which a text goes on about once it has said what that is.

    「山田太郎は青空社を設立した。」 -> (山田太郎, 設立, 青空社)
    「青空社の社長は山田太郎である。」 -> (青空社, 社長, 山田太郎)
    """
    words = morphemes(text)
    facts: list[Fact] = []
    for start, end in spans:
        row = [mention for mention in mentions if start <= mention.start and mention.end <= end]
        clause = [word for word in words if start <= word.start < end]
        sentence = _opened(text, start, end, row, None if _has_subject(clause, row) else topic)
        sentence.former = topic
        for at in range(len(row)):
            _relate(text, sentence, row, at, clause)
        facts.extend(sentence.facts)
        # Only what has a name is gone on about without being named again.
        if sentence.topic in {it.key for it in row if it.source is not Source.NOUN or it.key == title}:
            topic = sentence.topic
    return list(dict.fromkeys(facts))


def _opened(text: str, start: int, end: int, row: Sequence[Mention], topic: str | None) -> _Sentence:
    """A sentence with its topic: the first name before は, が or も, else that of the sentence before."""
    for mention in row:
        after = _after(text, mention)
        if mention.type is EntityType.TIME or _MADE.match(text, after):
            continue  # 「Xが設立した会社」 goes on about the company
        if text[after : after + 1] in {"は", "が", "も"}:
            return _Sentence(start, end, mention.key, carried=False, topic_start=mention.start)
    return _Sentence(start, end, topic, carried=True)


def _has_subject(clause: Sequence[Morpheme], row: Sequence[Mention]) -> bool:
    """Whether the sentence says itself who or what: お客様は, 油が."""
    named = {at for mention in row for at in range(mention.start, mention.end)}
    return any(
        word.surface in {"は", "が"}
        and word.pos[0] == "助詞"
        and before.pos[0] in _NOMINAL
        and before.start not in named
        for before, word in pairwise(clause)
    )


def _after(text: str, mention: Mention) -> int:
    """Where the sentence goes on behind a name, its honorific, its closing quote and its brackets."""
    honorific = _HONORIFIC.match(text, mention.end)
    at = honorific.end() if honorific else mention.end
    match = _BRACKETS.match(text, at)
    return match.end() if match else at


def _relate(text: str, sentence: _Sentence, row: Sequence[Mention], at: int, clause: Sequence[Morpheme]) -> None:
    mention = row[at]
    following = row[at + 1] if at + 1 < len(row) else None
    after = _after(text, mention)
    if _as_attribute(text, sentence, mention, following, after) or _as_office(text, sentence, mention, after):
        return
    if following and _as_titled(text, sentence, mention, following):
        return
    if text[after : after + 1] == "の":
        _as_role(text, sentence, mention, following, after)
        return
    if _as_origin(text, sentence, mention) or _as_maker(text, sentence, row, at, after):
        return
    if following and _LISTED.fullmatch(text[after : following.start]) and _MADE.match(text, _after(text, following)):
        return  # one of several makers: the last of them tells
    _as_verb(text, sentence, row, at, clause, after)


def _as_attribute(text: str, sentence: _Sentence, mention: Mention, following: Mention | None, after: int) -> bool:
    """XのRはY: X has the R Y."""
    match = _SUCCESSOR.match(text, after) or _ATTRIBUTE.match(text, after)
    if not match or following is None or not 0 <= following.start - match.end() <= 2:
        return False
    sentence.add(mention.key, match.group(1), following.key, SAID, FactKind.COPULA)
    return True


def _as_office(text: str, sentence: _Sentence, mention: Mention, after: int) -> bool:
    """社長はXである: of what, was said before."""
    office = _OFFICE.search(text[sentence.start : mention.start])
    if office is None or mention.type is not EntityType.PERSON or not _HOLDS.match(text[: sentence.end], after):
        return False
    sentence.add(sentence.former, office.group(1), mention.key, CARRIED, FactKind.COPULA)
    return True


def _as_titled(text: str, sentence: _Sentence, mention: Mention, following: Mention) -> bool:
    """YのR X, Y社長のX: X is the R of Y."""
    bridge = text[mention.end : following.start].lstrip("」』").rstrip("「『")
    role = bridge.removeprefix("の").removesuffix("の").removesuffix("・").removesuffix("である").removesuffix("、")
    known = role in PERSON_ROLES or role in _TITLE_ROLES or (bridge.startswith("の") and role in ROLE_TYPES)
    if not known or following.type is EntityType.TIME or following.source is Source.NOUN:
        return False
    sentence.add(mention.key, role, following.key, SAID, FactKind.APPOSITION)
    return True


_ROLE_ENDS = re.compile(
    r"(?:である|であり|であった|だった|で|です|だ|として|を[務勤歴兼]|をつと|の(?:一つ|ひとつ|一人)|[、。]|$)"
)
_MADE = re.compile(r"が(?:[^、。はをに]{0,8}?)([一-鿿]{2})(?:した|する|していた|している)(?=[一-鿿ァ-ヺー])")
_LISTED = re.compile(r"[とや、・]+")
_IS_SOMETHING = re.compile(r"(?:である|です|だ|であった|でした|だった)。?\s*$")


def _as_role(text: str, sentence: _Sentence, mention: Mention, following: Mention | None, after: int) -> None:
    """XはYのR: Y has the R X."""
    match = _ROLE_THEN.match(text[: sentence.end], after)
    if not match or sentence.topic == mention.key:
        return
    named = following is not None and following.start < match.end() and following.source is not Source.NOUN
    if not named and match.group(1) not in _NO_ROLES and _ROLE_ENDS.match(text[: sentence.end], match.end()):
        sentence.add(mention.key, match.group(1), sentence.topic, READ, FactKind.COPULA)


def _as_maker(text: str, sentence: _Sentence, row: Sequence[Mention], at: int, after: int) -> bool:
    """YはXが設立した会社, YはXとZが設立した会社: what X did to Y stands before what Y is."""
    match = _MADE.match(text[: sentence.end], after)
    if not match or sentence.topic == row[at].key or sentence.topic_start > row[at].start:
        return False
    if sentence.carried and not _IS_SOMETHING.search(text, sentence.start, sentence.end):
        return False  # 「Xが推進した政策により…」 says what came of it, and not what something is
    for maker in _listed_before(text, row, at):
        sentence.add(maker.key, match.group(1), sentence.topic, READ, FactKind.VERB)
    return True


def _as_origin(text: str, sentence: _Sentence, mention: Mention) -> bool:
    """東京都出身, 青空社所属."""
    match = _ORIGIN.match(text, mention.end)
    if not match or sentence.topic == mention.key:
        return False
    sentence.add(sentence.topic, match.group(1), mention.key, READ, FactKind.APPOSITION)
    return True


def _as_verb(
    text: str, sentence: _Sentence, row: Sequence[Mention], at: int, clause: Sequence[Morpheme], after: int
) -> None:
    """XがYを設立, XはYで生まれた, XはYによって設立された."""
    mention = row[at]
    agent = _AGENT.match(text, after)
    particle = (
        agent.group() if agent else next((case for case in ("から", *_CASES) if text.startswith(case, after)), "")
    )
    if not particle or particle in {"は", "が", "も"} or _in_brackets(text, sentence, mention):
        return
    verb, passive = _verb_after(clause, after + len(particle))
    if not verb:
        return
    subject = _subject(text, sentence, row, at)
    following = row[at + 1] if at + 1 < len(row) else None
    if agent and not passive and following and text.startswith(("が", "は"), _after(text, following)):
        # 大雪により工場が停電した: what came of it
        sentence.add(mention.key, f"により{verb}", following.key, READ, FactKind.VERB)
    elif agent or (passive and particle in {"に", "から"} and mention.type in _DOERS):
        for doer in _listed_before(text, row, at):
            sentence.add(doer.key, verb, subject, READ, FactKind.VERB)
    else:
        sentence.add(subject, verb if particle == "を" else f"{particle}{verb}", mention.key, READ, FactKind.VERB)


def _listed_before(text: str, row: Sequence[Mention], at: int) -> list[Mention]:
    """A name and those of the list that it ends: XとZによって."""
    first = at
    while first and _LISTED.fullmatch(text[_after(text, row[first - 1]) : row[first].start]):
        first -= 1
    return list(row[first : at + 1])


def _in_brackets(text: str, sentence: _Sentence, mention: Mention) -> bool:
    """What stands in brackets belongs to no verb outside: （以下「青空」という）."""
    before = text[sentence.start : mention.start].replace("(", "（").replace(")", "）")
    return before.rfind("（") > before.rfind("）")


_DOERS = frozenset({EntityType.PERSON, EntityType.ORGANISATION})


def _subject(text: str, sentence: _Sentence, row: Sequence[Mention], at: int) -> str | None:
    """The nearest name before with が, else the topic."""
    for mention in reversed(row[:at]):
        if text.startswith("が", _after(text, mention)) and mention.type is not EntityType.TIME:
            return mention.key
    return sentence.topic


def _verb_after(clause: Sequence[Morpheme], start: int) -> tuple[str, bool]:
    """The verb that what stands before `start` belongs to, and whether it is passive.

    「…を1999年に設立した」 -> ("設立", False); 「…により設立された」 -> ("設立", True)
    """
    ahead = [word for word in clause if word.start >= start][:_MAX_TO_VERB]
    for at, word in enumerate(ahead):
        after = ahead[at + 1 : at + 4]
        if word.pos[0] == "動詞" and word.lemma not in _HELPER_VERBS:
            return word.lemma, _is_passive(after)
        if word.pos[2] == "サ変可能" and (not after or after[0].pos[0] == "動詞" or after[0].surface in _CLAUSE_END):
            return word.surface, _is_passive(after)
    return "", False


def _is_passive(after: Sequence[Morpheme]) -> bool:
    for word in after:
        if word.pos[0] not in {"動詞", "助動詞"}:
            return False
        if word.lemma in _PASSIVES:
            return True
    return False
