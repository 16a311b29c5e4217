"""The JSON object in what an LLM wrote: alone, in a fenced block, or with words around it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

MAX_TRIES = 64
"""Opening braces that are looked at: each may cost a walk through the rest of the text."""

_THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_COMMA_BEFORE_END = re.compile(r",(\s*[}\]])")
# Models write NaN and line breaks inside strings, which JSON forbids and nobody misreads.
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


def without_thoughts(text: str) -> str:
    """The text without the thinking that some models write before their answer.

    "<think>Hm.</think>Yes." -> "Yes."
    """
    return _THOUGHTS.sub("", text)


def read_json_object(text: str, *, required: Collection[str] = ()) -> dict[str, Any]:
    """The JSON object that a text holds and that has the required keys.

    'Here it is: {"a": 1} Anything else?' -> {"a": 1}

    Raises:
        ValueError: there is none; says why.
    """
    said = without_thoughts(text.lstrip("\ufeff"))
    for candidate in (said, *_FENCE.findall(said)):
        whole = _whole(candidate)
        if isinstance(whole, dict) and _has(whole, required):
            return whole
        if whole is not None:
            msg = "is JSON of another shape than asked for"
            raise ValueError(msg)
    found = [it for it in _inside(said) if _has(it, required)]
    if not found:
        msg = "holds no whole JSON object" if "{" in said else "is not JSON"
        raise ValueError(msg)
    return max(found, key=lambda it: len(json.dumps(it)))


def _whole(text: str) -> Any:
    """The value that the text is as a whole; None where it is none, or null."""
    for form in (text, _COMMA_BEFORE_END.sub(r"\1", text)):
        try:
            return _DECODER.decode(form)
        except (ValueError, RecursionError):
            continue
    return None


def _inside(text: str) -> Iterator[dict[str, Any]]:
    """Objects with other words around them, outermost first, one after the other."""
    place = text.find("{")
    for _ in range(MAX_TRIES):
        if place < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            if _broke_off(error, text):
                return  # what stands inside an object that was cut off is not the answer
            end = place + 1
        else:
            yield value
        place = text.find("{", end)


def _broke_off(error: ValueError | RecursionError, text: str) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())


def _has(value: dict[str, Any], required: Collection[str]) -> bool:
    return all(key in value for key in required)
