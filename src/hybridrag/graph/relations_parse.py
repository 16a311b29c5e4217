"""Sentences that spaCy has parsed and their mentions -> facts, by who depends on whom.

Reads both label sets: that of the English pipelines (dobj, pobj, agent) and Universal Dependencies (obj, obl, case).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hybridrag.graph.mentions import Mention
from hybridrag.types.extraction import Fact, FactKind

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "obj", "attr", "oprd", "dative"})
_JAPANESE_PASSIVE = frozenset({"れる", "られる"})
_MAX_STEPS = 4
"""How far a word without a name is followed to one: "a film" -> what is a film."""
CONFIDENCE = 0.75


class _Reader:
    """One parsed text and the mentions at its tokens."""

    def __init__(self, document: Doc, mentions: Mapping[int, Mention], offset: int) -> None:
        self.document = document
        self.mentions = mentions
        self.offset = offset

    def facts(self) -> Iterator[Fact]:
        for token in self.document:
            yield from self._of_verb(token)
            yield from self._of_noun(token)

    def _fact(self, subject: str | None, predicate: str, target: str | None, token: Token) -> Iterator[Fact]:
        if subject and target and subject != target:
            start, end = (self.offset + at for at in (token.sent.start_char, token.sent.end_char))
            yield Fact(subject, predicate, target, start, end, CONFIDENCE, FactKind.PARSE)

    # ------------------------------------------------------------ verbs

    def _of_verb(self, verb: Token) -> Iterator[Fact]:
        """X founded Y; Y was founded by X; a film directed by X."""
        subjects = self._subjects(verb)
        if not subjects:
            return
        passive = any(child.dep_ in {"nsubjpass", "auxpass"} for child in verb.children) or verb.dep_ == "acl"
        passive = passive or any(child.lemma_ in _JAPANESE_PASSIVE for child in verb.children)
        for marker, target in self._targets(verb):
            agent = marker in {"by", "によって", "により"} or (marker == "に" and passive)
            for subject in subjects:
                if agent and passive:
                    yield from self._fact(target, self._verb(verb), subject, verb)
                else:
                    yield from self._fact(subject, self._joined(verb, marker), target, verb)

    def _verb(self, verb: Token) -> str:
        return str(verb.lemma_ if self._is_japanese and verb.lemma_ else verb.text.lower())

    def _joined(self, verb: Token, marker: str) -> str:
        if self._is_japanese:
            return self._verb(verb) if marker in {"", "を"} else f"{marker}{self._verb(verb)}"
        return f"{self._verb(verb)} {marker}".strip()

    @property
    def _is_japanese(self) -> bool:
        return str(self.document.lang_) == "ja"

    def _subjects(self, verb: Token) -> list[str]:
        """Names of who does it: of its own subject, of the verb it is joined to, or of the noun it describes."""
        own = [child for child in verb.children if child.dep_ in _SUBJECTS]
        if own and own[0].lower_ not in {"who", "which", "that"}:
            return [key for child in own for key in self._with_conjuncts(child)]
        if verb.dep_ in {"relcl", "acl"}:
            key = self._resolved(verb.head)
            return [key] if key else []
        return self._subjects(verb.head) if verb.dep_ == "conj" and verb.head is not verb else []

    def _targets(self, verb: Token) -> Iterator[tuple[str, str]]:
        """Names that a verb leads to, each with the preposition or particle between."""
        for child in verb.children:
            if child.dep_ in _OBJECTS:
                yield from (("", key) for key in self._with_conjuncts(child))
            elif child.dep_ in {"prep", "agent"}:
                yield from (
                    (child.lower_, key)
                    for it in child.children
                    if it.dep_ == "pobj"
                    for key in self._with_conjuncts(it)
                )
            elif child.dep_ == "obl":
                yield from ((_particle(child), key) for key in self._with_conjuncts(child))

    # ------------------------------------------------------------ nouns

    def _of_noun(self, noun: Token) -> Iterator[Fact]:
        """X is the director of Y; X, the director of Y; XはYの監督."""
        if noun.i in self.mentions:
            yield from self._of_possessor(noun)
            return
        owner = self._described(noun)
        if owner is None:
            return
        for child in noun.children:
            if child.dep_ == "prep":
                for target in child.children:
                    for key in self._with_conjuncts(target) if target.dep_ == "pobj" else ():
                        yield from self._fact(owner, f"{noun.lower_} {child.lower_}", key, noun)
            elif child.dep_ == "nmod" and _particle(child) == "の":
                for key in self._with_conjuncts(child):
                    yield from self._fact(key, noun.text, owner, noun)

    def _of_possessor(self, noun: Token) -> Iterator[Fact]:
        """Y's director X."""
        roles = [child for child in noun.children if child.dep_ == "compound" and child.text.islower()]
        for child in noun.children:
            if child.dep_ == "poss" and roles:
                key = self._key(child)
                yield from self._fact(self._key(noun), f"{roles[-1].text} of", key, noun)

    def _described(self, noun: Token) -> str | None:
        """Whom a noun without a name is said of."""
        if noun.dep_ in {"attr", "appos"}:
            return self._resolved(noun)
        subjects = [child for child in noun.children if child.dep_ in _SUBJECTS]
        return self._key(subjects[0]) if subjects else None

    # ------------------------------------------------------------ words -> names

    def _key(self, token: Token) -> str | None:
        mention = self.mentions.get(token.i)
        return mention.key if mention else None

    def _with_conjuncts(self, token: Token) -> list[str]:
        """The name at a word and those joined to it: "A, B and C"."""
        found = [self._resolved(token)]
        found.extend(self._key(other) for other in token.conjuncts)
        return [key for key in dict.fromkeys(found) if key]

    def _resolved(self, token: Token) -> str | None:
        """The name at a word, else of what the word is said of, else of what stands beside it."""
        for _ in range(_MAX_STEPS):
            key = self._key(token)
            if key:
                return key
            beside = next((self._key(it) for it in token.children if it.dep_ == "appos" and self._key(it)), None)
            if beside:
                return beside
            if token.dep_ == "attr":
                subject = next((it for it in token.head.children if it.dep_ in _SUBJECTS), None)
                if subject is None:
                    return None
                token = subject
            elif token.dep_ == "appos":
                token = token.head
            else:
                return None
        return None


def _particle(token: Token) -> str:
    return "".join(child.text for child in token.children if child.dep_ in {"case", "fixed"})


def parse_facts(document: Doc, mentions: tuple[Mention, ...], offset: int = 0) -> list[Fact]:
    """Facts between the mentions of a parsed text; `offset` is where the document begins in the chunk.

    "Ann Lee founded Acme Corp." -> (ann lee, founded, acme corp)
    """
    at_token: dict[int, Mention] = {}
    for token in document:
        place = offset + token.idx
        for mention in mentions:
            if mention.start <= place < mention.end:
                at_token[token.i] = mention
    return list(dict.fromkeys(_Reader(document, at_token, offset).facts()))
