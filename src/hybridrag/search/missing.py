"""Say in the question's language what was not found."""

from __future__ import annotations

from hybridrag.search.passages import Read, mentions
from hybridrag.types.terms import Name

MAX_SAID = 3
"""Names of which it is said that nothing speaks of them."""

NO_ANSWER = {"en": "The documents do not answer this.", "ja": "文書にはこの質問の答えがありません。"}
NOTHING_ON = {"en": "Nothing was found on {name}.", "ja": "「{name}」についての記述は見つかりませんでした。"}
NOT_SAID = {
    "en": "What was found is near the question and does not say it.",
    "ja": "近い記述はありますが、答えは書かれていません。",
}


def language_of(read: Read) -> str:
    """The language to speak in: `ja` for a Japanese question, else `en`."""
    return "ja" if read.question.language == "ja" else "en"


def say_missing(read: Read) -> tuple[str, ...]:
    """What would have to be found to answer, one sentence each.

    "When was Orin Works founded?", nothing on it found -> "Nothing was found on Orin Works."
    """
    language = language_of(read)
    unseen = [NOTHING_ON[language].format(name=" ".join(name.text.split())) for name in unseen_names(read)]
    return tuple(unseen[:MAX_SAID]) or (NOT_SAID[language],)


def unseen_names(read: Read) -> list[Name]:
    """The names in the question that no candidate holds; none where that cannot be told.

    "When was Hakodate founded?", [函館の開港は1859年。] -> []: a text in another language may write a name otherwise.
    """
    if any(hit.language not in ("", read.question.language) for hit in read.candidates):
        return []
    return [
        name for name in read.question.names if not any(mentions(read, at, name) for at in range(len(read.candidates)))
    ]
