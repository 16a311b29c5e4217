"""Analyse words, numbers and identifiers in Latin letters.

A word gives its stem and, where it differs, itself. Whatever is joined by signs, capitals or digits gives its pieces
at consecutive positions and, at the position of the first, every whole it is part of:

    running            0: run, running
    state-of-the-art   0: state, state-of-the-art  1: of  2: the  3: art
    getUserName        0: get, getusername  1: user  2: name
    user@example.com   0: user, user@example.com  1: exampl, example, example.com  2: com
    1,000.5            0: 1000, 1000.5  1: 5
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

from hybridrag.language.normalise import fold_normalised
from hybridrag.language.scripts import LATIN
from hybridrag.language.stopwords import ENGLISH, UNSPLIT
from hybridrag.language.units import MAX_TERM, Builder, Part, Role, Unit, remember

MAX_RUNS = 4
"""Changes between letters and digits that an identifier has; with more it is a hash or an id, kept whole."""

MAX_CAMEL = 3
"""Words up to this length are units and abbreviations (GHz, pH, PhD) rather than several words."""

MIN_STEM = 3
"""Shorter words are left as they are."""

_ATOM = rf"(?:[0-9]{{1,3}}(?:,[0-9]{{3}})++(?![0-9])|[{LATIN}]++(?:\+\+|(?<![{LATIN}][{LATIN}])\#(?![{LATIN}]))?)"
_JOINT = r"(?:_++|:(?:[:\\]|//)?|[-.'&+@/\\])"
CHUNK = rf"(?:(?<![{LATIN}_.)\]])\.(?=[A-Za-z]))?{_ATOM}(?:{_JOINT}{_ATOM})*+"
"""Everything between two gaps: a word with whatever is joined to it."""

_ATOMS = re.compile(_ATOM)
_SEGMENTS = re.compile(r"[^@/\\:]+")
_ACRONYM = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")
_CONTRACTION = re.compile(r"([A-Za-z]+)'(s|t|re|ve|ll|d|m)", re.IGNORECASE)
_DATE = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})")
_NUMBER = re.compile(r"[0-9][0-9,.]*")
_RUNS = re.compile(r"[0-9]+|[^0-9]+")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_ONE_WORD = re.compile(r"[A-Z]?[a-z]*|[A-Z]+s?|[a-z][A-Z]+|Mc[A-Z][a-z]+")
_PLURAL_OF_CAPITALS = re.compile(r"[A-Z]{2,}s")
_JOINED = re.compile(r"([A-Za-z]+)(?:[-']([A-Za-z]+)|\.(js))", re.IGNORECASE)

_local = threading.local()
_stems: dict[str, str] = {}
_units: dict[str, Unit] = {}


def analyse(chunk: str) -> Unit:
    """The terms of one chunk of normalised text.

    "running" -> parts (run, running), width 1
    """
    known = _units.get(chunk)
    if known is not None:
        return known
    unit = _analyse(chunk)
    return remember(_units, chunk, unit) if len(chunk) <= MAX_TERM else unit


def iso_date(year: str, month: str, day: str) -> str:
    """The date as 2024-03-15; empty when there is no such month or day.

    ("2024", "3", "15") -> "2024-03-15"
    """
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return ""
    return f"{year}-{int(month):02}-{int(day):02}"


def stem(word: str) -> str:
    """The stem of a case-folded English word; anything else comes back as it is.

    "running" -> "run"
    """
    if len(word) < MIN_STEM or not (word.isascii() and word.isalpha()) or len(word) > MAX_TERM:
        return word
    known = _stems.get(word)
    return known if known is not None else remember(_stems, word, _stemmer().stemWord(word))


def stemmer_version() -> str:
    """The version of the stemmer, as its package states it."""
    import Stemmer  # noqa: PLC0415 (keeps start-up fast)

    return str(Stemmer.version())


def _stemmer() -> Any:
    # A stemmer works in a buffer of its own, so every thread has one.
    if not hasattr(_local, "stemmer"):
        import Stemmer  # noqa: PLC0415 (keeps start-up fast)

        # Our cache is bounded and shared; the stemmer's own would be a second one in each thread.
        _local.stemmer = Stemmer.Stemmer("english", 0)
    return _local.stemmer


def _analyse(chunk: str) -> Unit:
    if chunk[0] == ".":
        return _with_leading_dot(chunk)
    if _ACRONYM.fullmatch(chunk):
        return _single(fold_normalised(chunk.replace(".", "")), len(chunk))
    contraction = _CONTRACTION.fullmatch(chunk)
    if contraction:
        return _contraction(chunk, contraction)
    return _compound(chunk)


def _single(term: str, length: int) -> Unit:
    """One term that is taken as it is: U.S.A. -> usa."""
    builder = Builder()
    builder.step([term], 0, length)
    return _finish(builder, term, stop=term in ("eg", "ie"))


def _with_leading_dot(chunk: str) -> Unit:
    """.NET is found as itself and as NET."""
    inner = _analyse(chunk[1:])
    whole = fold_normalised(chunk)[:MAX_TERM]
    parts = [part._replace(start=part.start + 1, end=part.end + 1) for part in inner.parts]
    first, *rest = inner.positions
    parts.insert(len(first), Part(whole, 0, len(chunk), 0))
    return inner._replace(parts=tuple(parts), whole=whole, positions=((*first, whole), *rest), stop=False)


def _contraction(chunk: str, match: re.Match[str]) -> Unit:
    """The owner's name is the word (dog's = dog); don't and we'll are words of their own."""
    word = match[1] if match[2].casefold() == "s" else chunk
    builder = Builder()
    builder.step(_spellings(word), 0, len(chunk))
    stop = not ENGLISH.isdisjoint((fold_normalised(chunk), fold_normalised(word)))
    return _finish(builder, builder.first(), stop=stop)


def _spellings(word: str) -> list[str]:
    """The stem, then the word where it differs."""
    folded = fold_normalised(word.replace(",", ""))
    if _PLURAL_OF_CAPITALS.fullmatch(word):
        return [folded[:-1], folded]
    return [stem(folded), folded]


def _compound(chunk: str) -> Unit:
    builder = Builder()
    others: list[str] = []
    for segment in _SEGMENTS.finditer(chunk):
        first = len(builder)
        atoms = list(_ATOMS.finditer(chunk, segment.start(), segment.end()))
        for atom in atoms:
            _add_atom(builder, atom[0], atom.start())
        if len(atoms) > 1:
            start, end = atoms[0].start(), atoms[-1].end()
            others += _add_segment(builder, chunk[start:end], start, first)
    if len(builder) == 1:
        return _finish(builder, builder.first(), stop=fold_normalised(chunk) in ENGLISH, role=_role(chunk))
    whole = fold_normalised(chunk.replace(",", "")) if len(chunk) <= MAX_TERM else ""
    builder.join(whole, 0, len(chunk), 0)
    date = _DATE.fullmatch(chunk)
    if date:
        others.append(whole)
        whole = iso_date(date[1], date[2], date[3]) or whole
        builder.join(whole, 0, len(chunk), 0)
    return _finish(builder, whole, others=tuple(it for it in others if it != whole), role=_role(chunk))


def _add_atom(builder: Builder, atom: str, offset: int) -> None:
    """One run of letters and digits: its words, and the runs and the whole that they make."""
    first = len(builder)
    for run, start in _runs(atom):
        at = len(builder)
        words = list(_humps(run, start))
        for word, here in words:
            builder.step(_spellings(word), offset + here, offset + here + len(word))
        if len(words) > 1:
            _join_all(builder, run, offset + start, at)
    if len(builder) > first + 1:
        _join_all(builder, atom, offset, first)


def _join_all(builder: Builder, whole: str, offset: int, position: int) -> None:
    # `getusername` in small letters is a word to the analysis, so its stem must be there as well.
    for term in reversed(_spellings(whole)):
        builder.join(term, offset, offset + len(whole), position)


def _add_segment(builder: Builder, segment: str, offset: int, first: int) -> list[str]:
    """The whole of what hyphens and dots join; returns the spellings without them."""
    if len(segment) <= MAX_TERM:
        builder.join(fold_normalised(segment.replace(",", "")), offset, offset + len(segment), first)
    joined = _JOINED.fullmatch(segment)
    if not joined:
        return []
    term = stem(fold_normalised("".join(filter(None, joined.groups()))))
    builder.join(term, offset, offset + len(segment), first)
    return [term]


def _runs(atom: str) -> Iterator[tuple[str, int]]:
    """Letters and digits apart: iPhone15 -> iPhone, 15. What holds a sign (1,000 or C++) is one already."""
    found = list(_RUNS.finditer(atom)) if atom[-1].isalnum() and "," not in atom else []
    if 1 < len(found) <= MAX_RUNS:
        for match in found:
            yield match[0], match.start()
    else:
        yield atom, 0


def _humps(run: str, offset: int) -> Iterator[tuple[str, int]]:
    """The words of an identifier: getUserName -> get, User, Name."""
    whole = len(run) <= MAX_CAMEL or not (run.isascii() and run.isalpha())
    if whole or _ONE_WORD.fullmatch(run) or run.lower() in UNSPLIT:
        yield run, offset
        return
    for match in _HUMPS.finditer(run):
        yield match[0], offset + match.start()


def _role(chunk: str) -> Role:
    return Role.NUMBER if _NUMBER.fullmatch(chunk) else Role.WORD


def _finish(
    builder: Builder, whole: str, *, others: tuple[str, ...] = (), role: Role = Role.WORD, stop: bool = False
) -> Unit:
    whole = whole[:MAX_TERM]
    return Unit(builder.parts(), len(builder), whole, builder.positions(), others=others, role=role, stop=stop)
