"""One question of a data set: its text, what is marked for it, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hybridrag.errors import InvalidInput
from hybridrag.types.queries import QueryType

UNANSWERABLE = frozenset({"unanswerable", "null"})
"""Types that say that the corpus holds no answer."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question and what a good answer to it would find."""

    id: str
    text: str
    gold: Mapping[str, int] = field(default_factory=dict)
    """Document -> grade; empty where nothing is marked."""
    type: str = ""
    """The kind of question as the data set calls it; scores are broken down by it."""
    intent: QueryType | None = None
    """The kind of question as the engine calls it, where the data set says so: what classification is scored by."""
    language: str = ""
    answers: tuple[str, ...] = ()
    """Each of which is right."""
    answerable: bool = True
    """Whether the corpus holds an answer. Where it does not, finding nothing is right."""
    themes: tuple[tuple[str, ...], ...] = ()
    """For a question about the whole: its themes, each as the documents that speak of it."""

    @property
    def has_evidence(self) -> bool:
        """Whether documents are marked that an answer rests on."""
        return self.answerable and any(grade >= 1 for grade in self.gold.values())

    @property
    def is_scored(self) -> bool:
        """Whether anything is known that an answer can be held against."""
        return self.has_evidence or bool(self.themes) or not self.answerable

    @property
    def marked(self) -> set[str]:
        """Every document that counts for it."""
        return {document for document, grade in self.gold.items() if grade >= 1}.union(*self.themes)


def read_query(where: str, fields: Mapping[str, Any], gold: Mapping[str, Mapping[str, int]]) -> Query:
    """A question from its line; `where` is named when it is wrong, fields that are not known are passed over.

    {"_id": "1", "text": "Who?", "type": "unanswerable"} -> Query(id="1", text="Who?", answerable=False, ...)

    Raises:
        InvalidInput: a field is of another kind than it must be.
    """
    identity = str(fields["_id"])
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"{where}: `text` must be a question.")
    kind = _text(where, fields, "type")
    intent = _text(where, fields, "intent")
    return Query(
        id=identity,
        text=text,
        gold=dict(gold.get(identity, {})),
        type=kind or intent,
        intent=next((QueryType(name) for name in (intent, kind) if name in list(QueryType)), None),
        language=_text(where, fields, "language"),
        answers=_answers(where, fields),
        answerable=_answerable(where, fields, (kind, intent)),
        themes=_themes(where, fields),
    )


def _text(where: str, fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{where}: `{name}` must be a text.")
    return value


def _answers(where: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    value = fields.get("answer", fields.get("answers"))
    listed = [] if value is None else [value] if isinstance(value, str) else value
    if isinstance(listed, list):
        listed = [one for one in listed if one is not None]
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise InvalidInput(f"{where}: `answer` must be a text or a list of texts.")
    return tuple(one for one in listed if one.strip())


def _answerable(where: str, fields: Mapping[str, Any], kinds: tuple[str, ...]) -> bool:
    value = fields.get("answerable")
    if value is None:
        return not any(kind.lower() in UNANSWERABLE for kind in kinds)
    if not isinstance(value, bool):
        raise InvalidInput(f"{where}: `answerable` must be true or false.")
    return value


def _themes(where: str, fields: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Lists of document ids; `{"name": ..., "documents": [...]}` is taken too."""
    value = fields.get("themes") or []
    if not isinstance(value, list):
        raise InvalidInput(f"{where}: `themes` must be a list of lists of document ids.")
    return tuple(_theme(where, theme.get("documents") if isinstance(theme, dict) else theme) for theme in value)


def _theme(where: str, documents: object) -> tuple[str, ...]:
    if not isinstance(documents, list) or not documents or not all(isinstance(one, str | int) for one in documents):
        raise InvalidInput(f"{where}: each of `themes` must be a list of document ids, and none empty.")
    return tuple(str(one) for one in documents)
