"""Analyse Japanese into dictionary words, with Sudachi.

The shortest units (mode A) in their normalised form take the positions; longer units (modes B and C) and the
spelling in the text stand at the position of their first part. Particles, auxiliaries and the honorific 御 take none:

    国際標準化機構の規格   0: 国際, 国際標準化機構  1: 標準, 標準化  2: 化  3: 機構  4: 規格
    引越した              0: 引っ越す, 引越す
    東京都庁              0: 東京, 東京都庁, 東京都  1: 都庁
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, NamedTuple

from hybridrag.language.normalise import fold
from hybridrag.language.scripts import HAN, KANA
from hybridrag.language.stopwords import JAPANESE
from hybridrag.language.units import MAX_TERM, Builder, Role, Unit, remember

if TYPE_CHECKING:
    from sudachipy import (  # type: ignore[import-untyped] # it ships stubs without the py.typed marker
        Dictionary,
        Morpheme,
        SplitMode,
        Tokenizer,
    )

MAX_SEGMENT = 8_000
"""Characters given to Sudachi at once; it refuses more than 49,149 bytes, and a character takes up to four."""

MIN_SEGMENT = 6_000
"""A segment is cut at the last sentence end after this, else at the last gap, else anywhere."""

MIN_KATAKANA_STEM = 4
"""An unknown katakana word of at least this length is the same with and without ー at its end."""

JAPANESE_TEXT = re.compile(f"[{KANA}{HAN}]")

_ALL_JAPANESE = re.compile(f"[{KANA}{HAN}]+")
_ALL_HAN = re.compile(f"[{HAN}]{{2,}}")
_KATAKANA = re.compile("[\u30a1-\u30ff]+")
_SENTENCE_END = re.compile("[。！？!?]")
_GAP = re.compile(f"[^{KANA}{HAN}]")
_ADMINISTRATIVE = frozenset("都道府県市区町村")

_FUNCTION = frozenset(("助詞", "助動詞", "補助記号", "空白"))
_SAYS_LITTLE = frozenset(("連体詞", "接続詞", "感動詞", "代名詞"))
_INFLECTED = frozenset(("動詞", "形容詞"))
_ROLES = {
    "接頭辞": Role.PREFIX,
    "接尾辞": Role.SUFFIX,
    "名詞": Role.NOUN,
    "代名詞": Role.NOUN,
    "形状詞": Role.NOUN,
    "記号": Role.NOUN,
}
_NAMES = {"姓": Role.FAMILY_NAME, "名": Role.GIVEN_NAME}
_INPUT_PLUGINS = [
    {"class": "com.worksap.nlp.sudachi.DefaultInputTextPlugin"},
    {
        "class": "com.worksap.nlp.sudachi.ProlongedSoundMarkPlugin",
        "prolongedSoundMarks": ["ー"],
        "replacementSymbol": "ー",
    },
]
"""Sudachi's own less the one that skips a reading in brackets: 徳島(とくしま) must be found by とくしま too."""

_FIELDS = {"surface", "pos", "normalized_form", "dictionary_form", "split_a", "split_b"}


class Extra(NamedTuple):
    """A term over several units, at the position of the one that begins at `start`."""

    start: int
    end: int
    term: str
    merges: bool
    """A query takes the units under it as one term; without it the term only helps to be found."""


class Analysis(NamedTuple):
    """The units of a text with the offset of each, ascending, and the terms that span units."""

    units: list[tuple[int, Unit]]
    extras: list[Extra]


class _Known(NamedTuple):
    length: int
    is_silent: bool
    """Gives nothing to the index: a particle, punctuation, another script. Half of all morphemes are."""
    unit: Unit


_UNLISTED = _Known(-1, is_silent=False, unit=Unit((), 0, "", ()))
"""Sudachi gives all unknown words of a kind one id, so the id alone does not say which word it is."""

_lock = threading.Lock()
_local = threading.local()
_dictionaries: list[Dictionary] = []
_by_id: dict[int, _Known] = {}
_by_spelling: dict[tuple[int, str], Unit] = {}
_nested: dict[str, Analysis] = {}
_places: dict[str, bool] = {}


def analyse(text: str, *, keep_function_words: bool = False) -> Analysis:
    """The Japanese words of a normalised text; what is in other scripts is left out.

    "標準化の" -> units [(0, 標準化)], where the unit holds 標準 and 化
    """
    result = Analysis([], [])
    start = 0
    while start < len(text):
        end = _segment_end(text, start)
        if JAPANESE_TEXT.search(text, start, end):
            # White space at an end would weigh on how the words beside it are cut.
            segment = text[start:end].rstrip()
            _analyse_segment(segment, start, result, keep_function_words=keep_function_words)
        start = end
    return result


def dictionary_version() -> str:
    """Versions of the analyser and its dictionary, which decide what words there are."""
    from importlib.metadata import version  # noqa: PLC0415 (keeps start-up fast)

    # Patch releases of the analyser do not change what it finds.
    analyser = ".".join(version("sudachipy").split(".")[:2])
    return f"sudachipy {analyser}, sudachidict-core {version('sudachidict-core')}"


def _segment_end(text: str, start: int) -> int:
    """The end of the line, so that what stands in other lines changes nothing; or less, where that is too long."""
    end = text.find("\n", start) + 1 or len(text)
    limit = start + MAX_SEGMENT
    if limit >= end:
        return end
    for border in (_SENTENCE_END, _GAP):
        ends = [match.end() for match in border.finditer(text, start + MIN_SEGMENT, limit)]
        if ends:
            return ends[-1]
    return limit


def _analyse_segment(segment: str, offset: int, result: Analysis, *, keep_function_words: bool) -> None:
    morphemes = _tokenizer().tokenize(segment)
    ids = [morpheme.word_id() for morpheme in morphemes]
    starts = [morpheme.begin() for morpheme in morphemes]
    starts.append(len(segment))
    known, append = _by_id.get, result.units.append
    place = ""
    for index, word_id in enumerate(ids):
        start, end = starts[index], starts[index + 1]
        length, is_silent, unit = known(word_id, _UNLISTED)
        if length != end - start:
            unit = _look_up(morphemes[index], word_id, segment[start:end])
        elif is_silent and not keep_function_words:
            place = ""
            continue
        if place:
            _add_place(place, segment, start, end, offset, result)
        place = unit.place
        if unit.width:
            append((offset + start, unit))
        elif unit.role is Role.MIXED:
            _add_mixed(unit.whole, segment[start:end], offset + start, result)
        elif keep_function_words and unit.role is Role.FUNCTION:
            append((offset + start, _as_word(unit.whole, end - start)))


def _add_place(place: str, segment: str, start: int, end: int, offset: int, result: Analysis) -> None:
    """横浜|市立 names 横浜市 as well."""
    if end - start > 1 and segment[start] in _ADMINISTRATIVE and _is_place(place + segment[start]):
        begin = offset + start - len(place)
        result.extras.append(Extra(begin, offset + start + 1, fold(place + segment[start]), merges=False))


def _look_up(morpheme: Morpheme, word_id: int, surface: str) -> Unit:
    """The unit of a word that is not known by its id alone: new, unlisted, or spelled with ーー."""
    if word_id not in _by_id and "ーー" not in surface:
        if morpheme.is_oov():
            remember(_by_id, word_id, _UNLISTED)
        else:
            unit = _read(morpheme, surface)
            is_silent = unit.role in (Role.FUNCTION, Role.FOREIGN)
            return remember(_by_id, word_id, _Known(len(surface), is_silent, unit)).unit
    spelled = _by_spelling.get((word_id, surface))
    if spelled is not None:
        return spelled
    return remember(_by_spelling, (word_id, surface), _read(morpheme, surface))


def _read(morpheme: Morpheme, surface: str) -> Unit:
    if not JAPANESE_TEXT.search(surface):
        return Unit((), 0, "", (), role=Role.FOREIGN)
    kind = morpheme.part_of_speech()
    term = _term(morpheme, surface)
    if not _ALL_JAPANESE.fullmatch(surface):
        return Unit((), 0, term, (), role=Role.MIXED)
    if not term or _is_function(kind, term):
        return Unit((), 0, fold(surface), (), role=Role.FUNCTION)
    builder = Builder()
    is_place = _add_short_units(builder, morpheme, surface)
    if len(builder) > 1:
        builder.join(term, 0, len(surface), 0)
    else:
        term = builder.first()
    return Unit(
        builder.parts(),
        len(builder),
        term,
        builder.positions(),
        role=_role(kind),
        stop=kind[0] in _SAYS_LITTLE or term in JAPANESE,
        place=surface if is_place and len(builder) == 1 else "",
    )


def _add_short_units(builder: Builder, morpheme: Morpheme, surface: str) -> bool:
    """Take a position for each short unit; whether the last of them is a place name."""
    short = _split(morpheme, "A")
    if not short:
        return _add_one_unit(builder, morpheme, surface)
    positions: dict[int, int] = {}
    place = ""
    for part in short:
        start, end = part.begin() - morpheme.begin(), part.end() - morpheme.begin()
        written = surface[start:end]
        if place and len(written) > 1 and written[0] in _ADMINISTRATIVE and _is_place(place + written[0]):
            builder.join(fold(place + written[0]), start - len(place), start + 1, len(builder) - 1)
        place = written if _names_place(part) else ""
        if not _is_function(part.part_of_speech(), _term(part, written)):
            positions[start] = len(builder)
            builder.step(_spellings(part, written), start, end)
    if not positions:
        return _add_one_unit(builder, morpheme, surface)
    _add_middle_units(builder, morpheme, surface, positions)
    return bool(place)


def _add_one_unit(builder: Builder, morpheme: Morpheme, surface: str) -> bool:
    is_number = morpheme.part_of_speech()[1] == "数詞"
    if is_number or not (morpheme.is_oov() and _ALL_HAN.fullmatch(surface)):
        builder.step(_spellings(morpheme, surface), 0, len(surface))
        return _names_place(morpheme)
    # An unknown name or Chinese word is found by its ideographs in order as well.
    for at, char in enumerate(surface):
        builder.step([fold(char)], at, at + 1)
    return False


def _add_middle_units(builder: Builder, morpheme: Morpheme, surface: str, positions: dict[int, int]) -> None:
    for part in _split(morpheme, "B"):
        start, end = part.begin() - morpheme.begin(), part.end() - morpheme.begin()
        if start in positions and sum(start <= at < end for at in positions) > 1:
            builder.join(_term(part, surface[start:end]), start, end, positions[start])


def _split(morpheme: Morpheme, mode: str) -> list[Morpheme]:
    # With add_single=True, SudachiPy 0.7.0 returns morphemes that panic when they are read.
    return list(morpheme.split(_modes()[mode], add_single=False))


def _add_mixed(term: str, surface: str, offset: int, result: Analysis) -> None:
    """Tシャツ: the Japanese in it as units, the whole over them and the Latin letters."""
    for run in _ALL_JAPANESE.finditer(surface):
        inner = _nested.get(run[0])
        if inner is None:
            inner = remember(_nested, run[0], analyse(run[0]))
        result.units.extend((offset + run.start() + start, unit) for start, unit in inner.units)
    if term:
        result.extras.append(Extra(offset, offset + len(surface), term, merges=True))


def _as_word(term: str, length: int) -> Unit:
    builder = Builder()
    builder.step([term], 0, length)
    return Unit(builder.parts(), 1, term, builder.positions(), role=Role.FUNCTION, stop=True)


def _term(morpheme: Morpheme, surface: str) -> str:
    term = fold(morpheme.normalized_form()).strip()[:MAX_TERM]
    is_unknown_katakana = _KATAKANA.fullmatch(surface) and morpheme.is_oov()
    if is_unknown_katakana and len(term) >= MIN_KATAKANA_STEM:
        return term.rstrip("ー") or term
    return term


def _spellings(morpheme: Morpheme, surface: str) -> list[str]:
    """The normalised form, then the word as written (inflected: as the dictionary lists it) for prefix searches."""
    kind = morpheme.part_of_speech()
    if kind[0] not in _INFLECTED:
        return [_term(morpheme, surface), fold(surface)]
    if kind[1] == "非自立可能":
        return [_term(morpheme, surface)]
    return [_term(morpheme, surface), fold(morpheme.dictionary_form())]


def _is_function(kind: tuple[str, ...], term: str) -> bool:
    return kind[0] in _FUNCTION or (kind[0] == "接頭辞" and term in ("御", "お", "ご"))


def _names_place(morpheme: Morpheme) -> bool:
    return bool(morpheme.part_of_speech()[2] == "地名")


def _role(kind: tuple[str, ...]) -> Role:
    if kind[1] == "数詞":
        return Role.NUMBER
    if kind[2] == "助数詞可能":
        return Role.COUNTER
    if kind[2] == "人名":
        return _NAMES.get(kind[3], Role.NOUN)
    return _ROLES.get(kind[0], Role.WORD)


def _is_place(name: str) -> bool:
    known = _places.get(name)
    if known is None:
        with _lock:
            known = any(map(_names_place, _dictionary_unlocked().lookup(name)))
        remember(_places, name, known)
    return known


def _tokenizer() -> Tokenizer:
    # A tokenizer works in buffers of its own, so every thread has one; the dictionary is shared.
    found: Tokenizer | None = getattr(_local, "tokenizer", None)
    if found is None:
        with _lock:
            found = _dictionary_unlocked().tokenizer(mode=_modes()["C"], fields=_FIELDS)
        _local.tokenizer = found
    return found


def _modes() -> dict[str, SplitMode]:
    found: dict[str, SplitMode] | None = getattr(_local, "modes", None)
    if found is None:
        from sudachipy import SplitMode  # noqa: PLC0415 (keeps start-up fast)

        found = _local.modes = {"A": SplitMode.A, "B": SplitMode.B, "C": SplitMode.C}
    return found


def _dictionary_unlocked() -> Dictionary:
    """The one dictionary of the process; call with the lock held."""
    if not _dictionaries:
        from sudachipy import Config, Dictionary  # noqa: PLC0415 (keeps start-up fast)

        _dictionaries.append(Dictionary(dict="core", config=Config(inputTextPlugin=_INPUT_PLUGINS)))
    return _dictionaries[0]
