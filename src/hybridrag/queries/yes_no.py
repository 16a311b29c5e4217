"""Whether a question can be answered by yes or no."""

from __future__ import annotations

import re

from hybridrag.language.japanese import JAPANESE_TEXT
from hybridrag.language.normalise import normalise

_ASKS_ENGLISH = re.compile(
    r"(?:(?:and|but|so|then)\s+)?(?:is|are|was|were|am|do|does|did|has|have|had|can|could|may|might|must|shall|should|will"
    r"|would)(?:n't)?\s+(?!\d)\S+\s+\S",
    re.IGNORECASE,
)
_OPEN_ENGLISH = re.compile(r"\b(?:or|who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_ASKS_JAPANESE = re.compile(r"(?:か|の|[うくすつぬむるただい])[?？]$|か[。.]?$")
_OPEN_JAPANESE = re.compile(
    "何|なに|なん|誰|だれ|どなた|いつ|どこ|どれ|どの|どち|どう|どん|どっち|いく[つら]|なぜ|それとも|ですか、|ますか、"
)


def asks_yes_no(question: str) -> bool:
    """Whether a question can be answered by yes or no.

    "May I park here?" -> True; "Is it red or blue?" -> False; 犬は泊まれますか -> True
    """
    text = normalise(question).strip()
    if JAPANESE_TEXT.search(text):
        return _ASKS_JAPANESE.search(text) is not None and _OPEN_JAPANESE.search(text) is None
    return _ASKS_ENGLISH.match(text) is not None and _OPEN_ENGLISH.search(text) is None
