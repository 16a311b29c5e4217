"""Tell what was pasted from what was asked: an address, an error message, a stack trace, code."""

from __future__ import annotations

import re

from hybridrag.queries.words import english

_ADDRESS = re.compile(
    r"[a-z]{2,10}://\S+|www\.\S+|[^\s@]+@[^\s@]+\.[^\s@]+|(?:[A-Za-z]:)?[\\/](?:[^\s\\/]+[\\/])*[^\s\\/]+"
)
_ERROR = re.compile(
    r"""
      Traceback\ \(most\ recent | ^[ \t]*at\ [\w.$<>]+\( | \b[A-Z]\w{0,60}(?:Error|Exception)\b
    | \bexit\ (?:code|status)\ [0-9]
    | \b(?:errno|segfault|segmentation\ fault|stack\ trace|core\ dumped|panicked\ at)\b | \b0x[0-9A-Fa-f]{4,16}\b
    | \b(?:ERROR|FATAL|WARN|WARNING)\b\s*[:\]] | \berror\ code\b | (?:エラー|例外|警告)\s?[::] | エラーコード
    """,
    re.VERBOSE | re.MULTILINE,
)
_CODE = re.compile(
    r"""
      ^[ \t]*(?:select\b.{1,200}\bfrom|insert\ into|update\ \w+\ set|delete\ from|(?:create|drop|alter)\ table)\b
    | ^[ \t]*(?:def|class|func|fn)\ \w+[ \t]*[(:{] | ^[ \t]*from\ [\w.]+\ import\b
    | ^[ \t]*import\ [\w.]+[ \t]*(?:;|as\b|$) | ^[ \t]*(?:const|let|var)\ \w+[ \t]*= | ^[ \t]*\#include\b
    | \bfunction[ \t]*\w*\( | [\w)\]][ \t]*[;{}][ \t]*$ | </?[a-z][\w-]*>
    | \w\(\)[ \t]*(?:[;{.]|=>|->) | ^[ \t]*[\w.]+[ \t]*=[ \t]*[\w.]+\( | ^[ \t]*[$>]\ \w+
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_QUESTION_END = re.compile(r"(?:[?？]|(?:です|ます|でしょう|の|た|る|い)か[。?？]?|教えて[^\n]{0,12})\s*$")
_ASKS = english("question_words", "auxiliaries")
_FIRST_WORD = re.compile(r"\s*([A-Za-z']+)")


def is_pasted(text: str) -> bool:
    """Whether it is no question but something found elsewhere, to be looked up as it stands.

    "TypeError: unsupported operand" -> True; "Why do I get a TypeError?" -> False
    """
    if _ADDRESS.fullmatch(text.strip()):
        return True
    first = _FIRST_WORD.match(text)
    asks = first is not None and first[1].lower() in _ASKS
    one_line = "\n" not in text.strip()
    if one_line and (asks or _QUESTION_END.search(text)):
        return False
    return bool(_ERROR.search(text) or _CODE.search(text))
