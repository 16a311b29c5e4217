"""Say in words what was not found."""

from __future__ import annotations

import re
from collections.abc import Collection

from hybridrag.language.japanese import JAPANESE_TEXT
from hybridrag.language.tokenise import QueryTerm
from hybridrag.language.words import keywords
from hybridrag.verify.features import Read
from hybridrag.verify.read import Asked, Name, is_theme, name_presence, presence
from hybridrag.verify.wants import Want

MAX_SAID = 3
"""Sentences about what is missing; more would be a list of the question's words."""

NAME_THERE = 0.5
"""From this share of its words on, a name counts as found: a person by the family name alone."""

_HAPPENINGS: dict[str, str] = {
    word: noun
    for noun, words in {
        "birth": "born birth birthday birthdate birthplace 生まれる 誕生 生年月日 生誕 出生 誕生日 生まれ",
        "death": "die died death 死ぬ 死亡 亡くなる 死去 没する",
        "founding": "founded establish established foundation founding 創業 設立 創立 創設 建国 結成 発足",
        "opening": "open opened opening opens 開業 開店 オープン 開園 開通 開館 開設 開場",
        "closing": "close closed closing closes 閉店 閉館 廃止 閉鎖 廃業",
        "construction": "build built construct constructed construction 建てる 建設 建築 建造 築城",
        "completion": "complete completed completion finished 完成 竣工",
        "publication": "publish published publication 出版 刊行 発行 創刊 発表",
        "release": "release released releases launch launched launches 発売 公開 リリース 配信",
        "marriage": "marry married marriage wedding 結婚",
        "beginning": "start started starts begin began begins 始まる 始める 開始",
        "end": "end ended ends 終わる 終了 終える",
        "invention": "invent invented invention 発明",
        "discovery": "discover discovered discovery 発見",
    }.items()
    for word in words.split()
}
"""A word of a question, as written or in dictionary form -> what happened."""

_KINDS = {
    Want.DATE: "date",
    Want.NUMBER: "number",
    Want.PERSON: "person",
    Want.PLACE: "place",
    Want.REASON: "reason",
    Want.MANNER: "way",
}
_QUESTION_WORDS = re.compile(
    r"(?:what|which|who|whom|whose|when|where|why|how|many|much|year|date|day|country|city|place|name)|"
    "何.*|誰|いつ|どこ|なぜ|年|国|人|場所|名前|理由|生年月日",
    re.IGNORECASE,
)

_ASKED_BY = """
    summaris summar give outlin describ list show explain provid around pictur inform differ variou collect
    教える 全体像 全体的 全般的 資料集 纏め 紹介 説明 一覧 挙げる 示す 概説 知る 色々 様々
"""
_ASKING = frozenset(_ASKED_BY.split())
"""Words that ask for an overview, as the language layer writes them: no document has to say them."""


def say_missing(read: Read) -> tuple[str, ...]:
    """What would have to be found to answer, one English sentence each; names and words as the question has them.

    "When was Orin Works founded?", nothing found -> "Nothing on Orin Works."
    the same, with a passage on its products -> "Nothing on the date of the founding of Orin Works."
    """
    asked = read.asked
    unseen = unseen_names(read)
    if unseen:
        return tuple(f"Nothing on {quoted(name.text)}." for name in unseen[:MAX_SAID])
    if is_theme(read.question):
        return (_say_theme(read),)
    words = _unseen_words(read)
    said = [_what_is_asked(asked)]
    if words:
        said.append(f"Nothing that mentions {join(words[:MAX_SAID])}.")
    return tuple(dict.fromkeys(sentence for sentence in said if sentence))[:MAX_SAID] or (
        "Nothing that answers the question.",
    )


def _say_theme(read: Read) -> str:
    """What an overview lacks: its subject, or documents on it."""
    subject = {term.term for term in theme_terms(read.asked)}
    words = _unseen_words(read, subject)
    if words:
        return f"Nothing that mentions {join(words[:MAX_SAID])}."
    about = [quoted(word, always=True) for word in topic_words(read.asked) if _term(word) in subject]
    about = about or [quoted(name.text) for name in read.asked.names]
    return f"Too few documents{' on ' + join(about[:MAX_SAID]) if about else ''} for an overview."


def theme_terms(asked: Asked) -> list[QueryTerm]:
    """The subject of a question about the whole: its terms without its names and without the words that ask.

    "Summarise the dangers from weather around Norrhamn" -> danger, weather
    """
    named = {spelling for name in asked.names for spelling in name.terms_alone}
    return [term for term in asked.terms if term.term not in named and term.term not in _ASKING]


def unseen_names(read: Read) -> list[Name]:
    """The names in the question that no candidate holds."""
    texts = [*read.passages, *read.headings]
    return [
        name
        for name in read.asked.names
        if max((name_presence(name, text.plain, text.terms) for text in texts), default=0.0) < NAME_THERE
    ]


def _unseen_words(read: Read, among: Collection[str] | None = None) -> list[str]:
    """The words of the question, or those of its terms that are given, that no candidate holds, as written."""
    everything = frozenset().union(*(text.terms for text in (*read.passages, *read.headings)))
    there = dict(zip((term.term for term in read.asked.terms), presence(read.asked.terms, everything), strict=True))
    missing = {term for term, share in there.items() if share < NAME_THERE and (among is None or term in among)}
    return [quoted(word, always=True) for word in topic_words(read.asked) if _term(word) in missing]


def _term(word: str) -> str:
    from hybridrag.language.tokenise import query_terms  # noqa: PLC0415

    found = query_terms(word)
    return found[0].term if found else word


def _what_is_asked(asked: Asked) -> str:
    kind = _KINDS.get(asked.want)
    names = join([quoted(name.text) for name in asked.names[:2]])
    words = topic_words(asked)
    event = next((noun for word in words if (noun := _HAPPENINGS.get(word.lower()))), None)
    if kind in {"date", "place"} and event:
        return f"Nothing on the {kind} of the {event}{' of ' + names if names else ''}."
    topic = join([quoted(word, always=True) for word in words[:MAX_SAID]])
    if kind is None:
        if not topic or not names:
            return f"Nothing that answers the question about {names or topic}." if names or topic else ""
        return f"Nothing on {topic} of {names}."
    if not topic and not names:
        return f"No {kind} that answers the question."
    about = f"{topic} of {names}" if topic and names else topic or names
    return f"No {kind} for {about}."


def topic_words(asked: Asked) -> list[str]:
    """The keywords of a question without its names and question words."""
    named = " ".join(name.plain for name in asked.names)
    return [
        word for word in keywords(asked.text) if word.casefold() not in named and not _QUESTION_WORDS.fullmatch(word)
    ]


def quoted(text: str, *, always: bool = False) -> str:
    """A name within an English sentence; in quotation marks where it is Japanese, or where it is no name."""
    text = " ".join(text.split())
    return f'"{text}"' if always or JAPANESE_TEXT.search(text) else text


def join(parts: list[str]) -> str:
    """["a", "b", "c"] -> "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
