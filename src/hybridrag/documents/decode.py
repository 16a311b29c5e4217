"""Bytes of unknown encoding in, text out: Unicode, the Japanese encodings, and the rest of the world."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from hybridrag.errors import UnknownFormat

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16 LE, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_WIDER: Final = {
    # What is declared -> what is really meant, as browsers read it: each is a superset.
    "shift_jis": "cp932",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
}
_SPOKEN: Final = {"x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp", "cp50220": "iso2022_jp"}
"""Names that files use and Python does not know."""

_MULTI_BYTE: Final = frozenset({"cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "big5hkscs", "cp949", "utf-16"})
"""Encodings in which random bytes hardly ever decode, so that a clean decoding confirms the declaration."""

_JIS_ESCAPE = re.compile(rb"\x1b(?:\$[@B]|\$\([DO-Q]|\([BIJ])")
_JIS_SHIFT = re.compile(rb"\x1b(?:\$\(?|\()[@BDIJO-Q]")

_SAMPLE_BYTES: Final = 65_536
"""Enough to tell encodings apart; the whole file is then decoded once."""
_SAMPLE_CHARACTERS: Final = 4_000
_MIN_SCORE: Final = 0.45
"""Below this mean score per foreign character a guess is not better than chance (see `_score`)."""
_KANA_EXPECTED_FROM: Final = 30
"""Japanese of this many foreign characters has kana; without any, it is more likely Chinese or Korean."""
_MAX_CONTROL_SHARE: Final = 0.02
"""Text may hold a stray control character (a terminal log); binary data holds 10 % of them."""
_MAX_STRAY_NULS: Final = 0.005

_CONTROLS = bytes(sorted({*range(32), 127} - set(b"\t\n\r\f\v\b\x1b")))
_CONTROL_CHARACTERS = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    r"""Text with \n line ends, and the encoding that it was in."""

    text: str
    encoding: str


def decode(data: bytes, *, name: str, declared: str | None = None) -> Decoded:
    r"""Decode by byte order mark, declaration, or what reads best; NUL becomes a space, \r\n becomes \n.

    "日本語".encode("shift_jis") -> Decoded("日本語", "cp932")

    Raises:
        UnknownFormat: the bytes are not text in any encoding known here.
    """
    found = (
        _by_mark(data) or _by_escapes(data) or _by_declaration(data, declared) or _as_utf8(data) or _by_score(data)
    ) or _by_statistics(data)
    if found is None or _is_noise(found.text):
        raise UnknownFormat(name, "looks like binary data, not text", kind="binary file")
    return Decoded(_tidy(found.text), found.encoding)


def _tidy(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\x00", " ") if "\x00" in text else text


def _is_noise(text: str) -> bool:
    head = text[:_SAMPLE_BYTES]
    controls = len(_CONTROL_CHARACTERS.findall(head)) - head.count("\x00")
    nuls = head.count("\x00")
    return controls > _MAX_CONTROL_SHARE * len(head) or nuls > _MAX_STRAY_NULS * len(head) + 1


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return Decoded(data[len(mark) :].decode(encoding, "replace"), encoding)
    return None


def _by_escapes(data: bytes) -> Decoded | None:
    """ISO-2022-JP: seven-bit bytes with escapes into Japanese character sets."""
    if b"\x1b" not in data or not _JIS_ESCAPE.search(data) or not data.isascii():
        return None
    return Decoded(decode_jis(data), "iso2022_jp")


def decode_jis(data: bytes) -> str:
    """ISO-2022-JP as mail programs really write it: with half-width katakana and vendor characters such as ①.

    Python's own codecs refuse those. The character sets are those of EUC-JP with the high bit off.
    """
    parts: list[str] = []
    position, shift = 0, b"\x1b(B"
    for match in _JIS_SHIFT.finditer(data):
        parts.append(_jis_segment(shift, data[position : match.start()]))
        position, shift = match.end(), match[0]
    parts.append(_jis_segment(shift, data[position:]))
    return "".join(parts)


_HIGH = bytes(value | 0x80 if 0x21 <= value <= 0x7E else value for value in range(256))


def _jis_segment(shift: bytes, segment: bytes) -> str:
    if shift in {b"\x1b(B", b"\x1b(J"}:
        return segment.decode("ascii", "replace")
    if shift == b"\x1b(I":
        return segment.translate(_HIGH).decode("cp932", "replace")
    if shift == b"\x1b$(D":
        pairs = re.findall(rb"[\x21-\x7e]{2}|[^\x21-\x7e]", segment)
        return b"".join(b"\x8f" + p.translate(_HIGH) if len(p) == 2 else p for p in pairs).decode("euc_jp", "replace")
    if shift.startswith(b"\x1b$("):
        return (shift + segment + b"\x1b(B").decode("iso2022_jp_2004", "replace")
    return _decode_euc(segment.translate(_HIGH))


def _decode_euc(data: bytes) -> str:
    try:
        return data.decode("euc_jp")
    except UnicodeDecodeError:
        # JIS X 0213 holds the vendor characters (①, ㈱) where Windows puts them.
        return data.decode("euc_jis_2004", "replace")


def codec_of(charset: str | None) -> str | None:
    """The Python codec that reads what a declaration means, or None if it names none.

    "Shift_JIS" -> "cp932"; "latin1" -> "cp1252"; "no-such" -> None
    """
    if not charset:
        return None
    label = charset.strip(" \t\"'").lower()
    try:
        known = codecs.lookup(_SPOKEN.get(label, label))
    except (LookupError, ValueError):
        return None
    if not known._is_text_encoding:  # noqa: SLF001 (base64 and zip are codecs too)
        return None
    return _WIDER.get(known.name, known.name)


def decode_as(data: bytes, codec: str) -> str:
    """Decode by that codec, mending what cannot be read."""
    return _DECODERS[codec](data) if codec in _DECODERS else data.decode(codec, "replace")


def _by_declaration(data: bytes, declared: str | None) -> Decoded | None:
    codec = codec_of(declared)
    if codec is None:
        return None
    text = decode_as(data, codec)
    if "\ufffd" in text:
        return None
    if codec not in _MULTI_BYTE:
        # Every byte is a letter in most one-byte encodings: clean UTF-8 proves such a declaration wrong.
        return (None if data.isascii() else _as_utf8(data)) or Decoded(text, codec)
    return Decoded(text, codec)


def _as_utf8(data: bytes) -> Decoded | None:
    if _is_two_bytes_wide(data):
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    # Kanji in UTF-16 may consist of ASCII bytes alone; their control characters give them away.
    return None if _is_noise(text) else Decoded(text, "utf-8")


def _is_two_bytes_wide(data: bytes) -> bool:
    """ASCII in UTF-16 is valid UTF-8 with a NUL in every other place, which no UTF-8 text has."""
    head = data[:_SAMPLE_BYTES]
    nuls = head.count(0)
    return nuls > _MAX_STRAY_NULS * len(head) + 1 or (nuls > 0 and len(head) <= 64)


_DECODERS: Final[dict[str, Callable[[bytes], str]]] = {"euc_jp": _decode_euc, "iso2022_jp": decode_jis}

_GUESSES: Final = ("utf-8", "cp932", "euc_jp", "utf-16-le", "utf-16-be", "cp1252")
"""Tried in this order; at equal score the earlier wins."""


def _by_score(data: bytes) -> Decoded | None:
    sample = _foreign_sample(data)
    best, encoding = max(
        ((_score(decode_as(sample, guess), guess), guess) for guess in _GUESSES),
        key=lambda scored: (scored[0], -_GUESSES.index(scored[1])),
    )
    return Decoded(decode_as(data, encoding), encoding) if best >= _MIN_SCORE else None


def _foreign_sample(data: bytes) -> bytes:
    """The part that tells: from the line of the first byte that is no ASCII on, cut at a line end."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    foreign = re.search(rb"[\x80-\xff]", data)
    start = data.rfind(b"\n", 0, foreign.start()) + 1 if foreign else 0
    start -= start % 2  # keeps the halves of UTF-16 together
    sample = data[start : start + _SAMPLE_BYTES]
    end = sample.rfind(b"\n")
    return sample[: end + 1 - (end + 1) % 2] if end > _SAMPLE_BYTES // 2 else sample


_FOREIGN = re.compile("[^\t\n\r -~]")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_LATIN_WORD = re.compile("[A-Za-z]?[À-ÖØ-öø-ÿŒœŠšŽžŸ]{1,2}[A-Za-z]?")

_ORDINARY = 0.9
_HALF_WIDTH_IN_CP932 = 0.85  # below `_ORDINARY`: 名前 in EUC-JP is ﾌｾﾁｰ in Shift_JIS
_DOUBTFUL = 0.2
"""Rare kanji, and half-width katakana read as Shift_JIS, which is also what EUC-JP looks like when misread."""
_NO_KANA = 0.45
"""Takes a long EUC-JP text of kanji alone below `_MIN_SCORE`: Chinese and Korean share its byte ranges."""
_MOST_FOREIGN = 0.3
_RARE_IN_UTF16 = 0.1
_ILLEGIBLE = -5.0
"""One unassigned or undecodable character outweighs five that could be right."""


def _score(text: str, encoding: str) -> float:
    """How well the characters outside ASCII read: 1 is ordinary Japanese, 0 nothing, below 0 garbage.

    "これは" -> 1.0; the same bytes read as cp1252 -> about 0
    """
    foreign = [match[0] for match in islice(_FOREIGN.finditer(text), _SAMPLE_CHARACTERS)]
    if encoding.startswith("utf-16"):
        return _score_wide(text, foreign)
    if not foreign:
        return 0.0
    if encoding == "cp1252":
        return _score_latin(text, foreign)
    mean = sum(map(_weight, foreign)) / len(foreign)
    if encoding != "cp932" or _is_half_width(foreign):
        fair = _HALF_WIDTH_IN_CP932 if encoding == "cp932" else 1.0
        mean += (fair - _DOUBTFUL) * sum(map(_is_half_kana, foreign)) / len(foreign)
    if encoding == "euc_jp" and len(foreign) >= _KANA_EXPECTED_FROM and not _KANA.search("".join(foreign)):
        return mean * _NO_KANA
    return mean


def _is_half_kana(character: str) -> bool:
    return "\uff61" <= character <= "\uff9f"


def _is_half_width(foreign: list[str]) -> bool:
    """Whether text read as Shift_JIS is really half-width katakana, not EUC-JP or Cyrillic misread.

    EUC-JP has bytes past those of half-width katakana; KOI8-R never has the row from ｱ to ｿ.
    """
    first_row = sum("ｱ" <= character <= "ｿ" for character in foreign)
    return len(foreign) >= 3 and all(map(_is_half_kana, foreign)) and first_row >= 0.1 * len(foreign)


def _weight(character: str) -> float:
    code = ord(character)
    if 0x3041 <= code <= 0x30FE or 0x3001 <= code <= 0x301F or 0xFF01 <= code <= 0xFF5E or code == 0x3000:
        return 1.0
    if 0x3200 <= code <= 0x33FF:
        return _ORDINARY  # ㈱, ㍻ and their like
    if 0x4E00 <= code <= 0x9FFF:
        return _weight_of_kanji(character)
    if 0xFF61 <= code <= 0xFF9F:
        return _DOUBTFUL
    if code in _ILLEGIBLE_CODES or 0xE000 <= code <= 0xF8FF or not character.isprintable():
        return _ILLEGIBLE
    return 0.6 if code < 0x250 or 0x2000 <= code < 0x2700 or 0x1F300 <= code < 0x1FB00 else 0.1


_ILLEGIBLE_CODES = frozenset({0xFFFD, 0xFFFE, 0xFFFF})


def _weight_of_kanji(character: str) -> float:
    """Kanji of everyday use stand in the first level of JIS X 0208: up to 腕, 0x9872 in Shift_JIS."""
    try:
        return _ORDINARY if character.encode("cp932") <= b"\x98\x72" else _DOUBTFUL
    except UnicodeEncodeError:
        return 0.0


def _score_wide(text: str, foreign: list[str]) -> float:
    """UTF-16 takes nearly any bytes: it must be ASCII for the most part, or read well in all its variety.

    Numbers in binary files repeat a few characters; judged by how often each occurs, they would pass for kanji.
    """
    if _CONTROL_CHARACTERS.search(text):
        return 0.0
    if len(foreign) < _MOST_FOREIGN * min(len(text), _SAMPLE_CHARACTERS):
        return 1.0
    kinds = set(foreign)
    weights = (_RARE_IN_UTF16 if "\u0100" <= kind <= "\u024f" else _weight(kind) for kind in kinds)
    return sum(weights, (1.0 - _DOUBTFUL) * sum(map(_is_half_kana, kinds))) / len(kinds)


def _score_latin(text: str, foreign: list[str]) -> float:
    """Accented letters count inside words written in ASCII; long runs of them are another alphabet misread."""
    if any(_weight(character) == _ILLEGIBLE and character != "\u00ad" for character in foreign):
        return 0.0
    inside = sum(
        sum(not c.isascii() for c in word)
        for word in islice(_LATIN_WORD.findall(text), _SAMPLE_CHARACTERS)
        if not word.isalpha() or any(c.isascii() for c in word)
    )
    punctuation = sum(character in "‘’“”–—…•€£§©®°«»¿¡´·\u00a0" for character in foreign)
    return 0.8 * min(1.0, (inside + punctuation) / len(foreign))


_ELSEWHERE: Final = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *(
        "koi8_r",
        "koi8_u",
        "iso8859_2",
        "iso8859_5",
        "iso8859_7",
        "mac_roman",
        "mac_cyrillic",
        "cp437",
        "cp850",
        "cp866",
    ),
    *("gb18030", "big5", "big5hkscs", "cp949", "euc_jp", "euc_jis_2004"),
)
"""What files outside of Unicode and Shift_JIS are really written in; rarer codecs fit anything and explain nothing."""


def _by_statistics(data: bytes) -> Decoded | None:
    """Any other encoding, by letter frequencies."""
    head = data[:_SAMPLE_BYTES]
    if sum(head.count(value) for value in _CONTROLS) > _MAX_CONTROL_SHARE * len(head):
        return None
    from charset_normalizer import from_bytes  # noqa: PLC0415 (seldom needed, slow to load)

    match = from_bytes(_foreign_sample(data), cp_isolation=list(_ELSEWHERE)).best()
    if match is None:
        return None
    return Decoded(decode_as(data, match.encoding), match.encoding)
