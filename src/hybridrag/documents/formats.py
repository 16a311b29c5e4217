"""Find out what a file is: by its content first, by its name second."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from hybridrag.documents.archive import CONTENT_TYPES, peek_archive, read_member
from hybridrag.errors import DocumentError, UnknownFormat, UnreadableDocument

PLAIN = "text/plain"
MARKDOWN = "text/markdown"
HTML = "text/html"
XML = "application/xml"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
EPUB = "application/epub+zip"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSONL = "application/jsonl"
NOTEBOOK = "application/x-ipynb+json"
MAIL = "message/rfc822"
MBOX = "application/mbox"
MSG = "application/vnd.ms-outlook"
RTF = "application/rtf"
ODT = "application/vnd.oasis.opendocument.text"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
ODP = "application/vnd.oasis.opendocument.presentation"
DOC = "application/msword"
XLS = "application/vnd.ms-excel"
PPT = "application/vnd.ms-powerpoint"
MAN = "text/troff"
RST = "text/x-rst"
TEX = "text/x-tex"
ORG = "text/x-org"
LOG = "text/x-log"
SUBRIP = "application/x-subrip"
WEBVTT = "text/vtt"
YAML = "application/yaml"
TOML = "application/toml"
INI = "text/x-ini"
GZIP = "application/gzip"
ZIP = "application/zip"
OLE = "application/x-ole-storage"
BINARY = "application/octet-stream"

SOURCE_CODE: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys((".py", ".pyi", ".pyw"), "text/x-python"),
        **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "text/javascript"),
        **dict.fromkeys((".ts", ".tsx", ".mts", ".cts"), "text/x-typescript"),
        **dict.fromkeys((".c", ".h"), "text/x-c"),
        **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx"), "text/x-c++"),
        **dict.fromkeys((".sh", ".bash", ".zsh"), "text/x-shellscript"),
        **dict.fromkeys((".yaml", ".yml"), YAML),
        **dict.fromkeys((".ini", ".cfg", ".conf", ".properties", ".env"), INI),
        **dict.fromkeys((".css", ".scss", ".less"), "text/css"),
        ".java": "text/x-java",
        ".kt": "text/x-kotlin",
        ".scala": "text/x-scala",
        ".swift": "text/x-swift",
        ".go": "text/x-go",
        ".rs": "text/x-rust",
        ".rb": "text/x-ruby",
        ".php": "text/x-php",
        ".cs": "text/x-csharp",
        ".lua": "text/x-lua",
        ".pl": "text/x-perl",
        ".r": "text/x-r",
        ".jl": "text/x-julia",
        ".hs": "text/x-haskell",
        ".ex": "text/x-elixir",
        ".sql": "text/x-sql",
        ".ps1": "text/x-powershell",
        ".vue": "text/x-vue",
        ".toml": TOML,
        ".tf": "text/x-terraform",
        ".proto": "text/x-protobuf",
    }
)
"""Endings of source code and settings files, and their types."""

EXTENSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **SOURCE_CODE,
        **dict.fromkeys((".txt", ".text"), PLAIN),
        **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx"), MARKDOWN),
        **dict.fromkeys((".html", ".htm", ".xhtml", ".shtml"), HTML),
        **dict.fromkeys((".json", ".geojson"), JSON),
        **dict.fromkeys((".jsonl", ".ndjson"), JSONL),
        **dict.fromkeys((".tsv", ".tab"), TSV),
        **dict.fromkeys((".eml", ".mht", ".mhtml"), MAIL),
        **dict.fromkeys((".xml", ".rss", ".atom"), XML),
        **dict.fromkeys((".docx", ".docm", ".dotx"), DOCX),
        **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".potx"), PPTX),
        **dict.fromkeys((".xlsx", ".xlsm", ".xltx"), XLSX),
        **dict.fromkeys((".tex", ".ltx"), TEX),
        **dict.fromkeys((".odt", ".ott"), ODT),
        **dict.fromkeys((".ods", ".ots"), ODS),
        **dict.fromkeys((".odp", ".otp"), ODP),
        **dict.fromkeys((*(f".{number}" for number in range(1, 9)), ".man", ".roff"), MAN),
        ".rst": RST,
        ".org": ORG,
        ".log": LOG,
        ".srt": SUBRIP,
        ".vtt": WEBVTT,
        ".rtf": RTF,
        ".msg": MSG,
        ".mbox": MBOX,
        ".doc": DOC,
        ".xls": XLS,
        ".ppt": PPT,
        ".csv": CSV,
        ".pdf": PDF,
        ".epub": EPUB,
        ".ipynb": NOTEBOOK,
    }
)
"""Endings (lower case, with their dot) and the types that they stand for."""

_FILE_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"dockerfile": "text/x-dockerfile", "makefile": "text/x-makefile", "gemfile": "text/x-ruby"}
)

_MAGIC: Final = (
    # (offset, bytes, type); only what cannot be the start of a text
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE),
    (0, b"{\\rtf", RTF),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"OggS\x00", "audio/ogg"),
    (0, b"fLaC\x00", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (8, b"WAVEfmt ", "audio/wav"),
    (0, b"\x1f\x8b\x08", GZIP),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\x00", "application/x-xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (257, b"ustar", "application/x-tar"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (0, b"\x7fELF", "application/x-elf"),
    (0, b"MZ\x90\x00", "application/x-dosexec"),
    (0, b"\xca\xfe\xba\xbe\x00", "application/java-vm"),
    (0, b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (0, b"\x00asm", "application/wasm"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
)

_PACKED_ENDINGS: Final = frozenset({".gz", ".bz2", ".xz"})

_TEXT_MARKS: Final = (b"ID3", b"BZh", b"PAR1")
"""Marks that a text could begin with ("BZhang..."): they count only where control characters follow."""

_REFUSALS: Final = (
    # (start of the type, reason, what to do)
    ("image/", "is an image, and images are not read", "Run OCR over it and add the text."),
    ("application/postscript", "is PostScript", "Convert it to PDF (ps2pdf) and add that."),
    ("audio/", "is a sound recording", "Add a transcript of it."),
    ("video/", "is a video", "Add a transcript of it."),
    ("application/vnd.oasis.opendocument", "is a drawing or another OpenDocument file without text", None),
    ("application/vnd.sqlite3", "is a database", "Export its tables as CSV."),
    ("application/vnd.apache.parquet", "is a Parquet table", "Export it as CSV or JSONL."),
    ("application/x-elf", "is a program", None),
    ("application/x-dosexec", "is a program", None),
    ("application/x-mach-binary", "is a program", None),
    ("application/java-vm", "is a program", None),
    ("application/wasm", "is a program", None),
    (OLE, "is an OLE container that is neither a document nor a message", None),
    (BINARY, "looks like binary data, not text", None),
    *(
        (packed, "is an archive", "Unpack it and add the folder.")
        for packed in (
            *(ZIP, GZIP, "application/x-bzip2", "application/x-xz", "application/x-7z-compressed"),
            *("application/vnd.rar", "application/zstd", "application/x-tar"),
        )
    ),
)

_MAIN_PARTS: Final = (
    (b"wordprocessingml.document.main+xml", DOCX),
    (b"ms-word.document.macroEnabled.main+xml", DOCX),
    (b"wordprocessingml.template.main+xml", DOCX),
    (b"presentationml.presentation.main+xml", PPTX),
    (b"ms-powerpoint.presentation.macroEnabled.main+xml", PPTX),
    (b"presentationml.slideshow.main+xml", PPTX),
    (b"presentationml.template.main+xml", PPTX),
    (b"spreadsheetml.sheet.main+xml", XLSX),
    (b"ms-excel.sheet.macroEnabled.main+xml", XLSX),
    (b"spreadsheetml.template.main+xml", XLSX),
)
_PEEK: Final = 65_536
_VAGUE: Final = frozenset({"", BINARY, ZIP, "application/x-zip-compressed", "binary/octet-stream"})
"""What servers send when they do not know."""


def find_format(
    data: bytes, *, name: str, mime_type: str | None = None, extensions: Mapping[str, str] = EXTENSIONS
) -> str:
    """The type of a file: a format's own mark beats `mime_type`, which beats the ending of `name`.

    b"%PDF-1.7 ...", name="report.txt" -> "application/pdf"; b"# Plan", name="plan.md" -> "text/markdown"

    Raises:
        UnreadableDocument: a zipped or Office format that is damaged or encrypted.
    """
    by_name = _by_name(name, extensions)
    marked = _by_magic(data, by_name)
    if marked == ZIP:
        return _inside_zip(data, name) or by_name or ZIP
    if marked == OLE:
        if _is_encrypted_office(data):
            raise UnreadableDocument(name, "is encrypted with a password")
        return _inside_ole(data) or (by_name if by_name in {DOC, XLS, PPT, MSG} else OLE)
    if marked is not None:
        return marked
    given = (mime_type or "").partition(";")[0].strip().lower()
    if given not in _VAGUE:
        return given
    if by_name is None or by_name == PLAIN:
        return _by_first_bytes(data, generic=by_name is None) or by_name or PLAIN
    return by_name


def charset_of(mime_type: str | None) -> str | None:
    """The charset that a Content-Type names.

    "text/html; charset=Shift_JIS" -> "Shift_JIS"; "text/html" -> None
    """
    match = re.search(r";\s*charset\s*=\s*\"?([\w.:-]+)", mime_type or "", re.IGNORECASE)
    return match[1] if match else None


def refusal(name: str, mime_type: str) -> DocumentError:
    """The error for a type that no reader takes: what the file is, and what to do with it."""
    kind = next((kind for start, kind in _NO_DOCUMENTS if mime_type.startswith(start)), None)
    for start, reason, hint in _REFUSALS:
        if mime_type.startswith(start):
            return UnknownFormat(name, reason, hint=hint, kind=kind)
    return UnknownFormat(name, f"is of type {mime_type}, which no reader takes")


_NO_DOCUMENTS: Final = (
    ("image/", "picture"),
    ("audio/", "sound recording"),
    ("video/", "video"),
    ("application/vnd.sqlite3", "data file"),
    ("application/vnd.apache.parquet", "data file"),
    ("application/x-elf", "program"),
    ("application/x-dosexec", "program"),
    ("application/x-mach-binary", "program"),
    ("application/java-vm", "program"),
    ("application/wasm", "program"),
    ("application/postscript", "PostScript file"),
    (OLE, "binary file"),
    (BINARY, "binary file"),
)
"""What files of these types are, where a folder holds them: nothing that a search could find."""

_KIND_OF_NAME: Final[Mapping[str, str]] = MappingProxyType(
    {
        ending: kind
        for kind, endings in {
            "picture": "png jpg jpeg gif bmp ico svg svgz webp tif tiff heic avif xpm xbm ppm pgm psd ai icns cur",
            "sound recording": "mp3 wav flac ogg oga m4a aac opus mid aiff wma",
            "video": "mp4 m4v mov avi mkv webm wmv flv mpg mpeg",
            "font": "ttf otf woff woff2 eot pfb pfm afm bdf pcf",
            "style sheet": "css scss sass less styl",
            "program": "exe dll so dylib o a lib obj class jar war pyc pyo pyd wasm deb rpm msi dmg iso img bin",
            "data file": "db sqlite sqlite3 parquet npy npz pkl pickle pt pth onnx safetensors h5 hdf5 mat rds",
            "generated file": "map min.js min.css js.map css.map",
            "lock file": "lock",
            "PostScript file": "ps eps",
        }.items()
        for ending in endings.split()
    }
)
_LOCK_FILES: Final = frozenset({"package-lock.json", "pnpm-lock.yaml", "npm-shrinkwrap.json", "go.sum"})


def no_document(name: str) -> str | None:
    """What a file is whose name says that it is no document; None for any other.

    "logo.png" -> "picture"; "poetry.lock" -> "lock file"; "notes.txt" -> None
    """
    base = PurePath(name.lower()).name
    if base in _LOCK_FILES:
        return "lock file"
    endings = PurePath(base).suffixes
    return _KIND_OF_NAME.get("".join(endings[-2:])[1:]) or _KIND_OF_NAME.get("".join(endings[-1:])[1:])


def _by_name(name: str, extensions: Mapping[str, str]) -> str | None:
    path = PurePath(name.lower())
    if path.suffix in _PACKED_ENDINGS:
        path = path.with_suffix("")
    found = extensions.get(path.suffix) or _FILE_NAMES.get(path.name)
    # Debian's manuals add a letter: printf.3perl, crontab.1posix.
    return MAN if found is None and re.fullmatch(r"\.[1-8][a-z]{1,8}", path.suffix) else found


def _by_magic(data: bytes, by_name: str | None) -> str | None:
    # Mail gateways put lines before the mark, and readers forgive it; but a text may also be about PDF.
    if data.startswith(b"%PDF-") or (by_name == PDF and b"%PDF-" in data[:1024]):
        return PDF
    for offset, mark, mime_type in _MAGIC:
        if data.startswith(mark, offset) and (mark not in _TEXT_MARKS or _has_controls(data)):
            return mime_type
    return None


def _has_controls(data: bytes) -> bool:
    return bool(re.search(rb"[\x00-\x08\x0e-\x1a]", data[:64]))


_OLE_STREAMS: Final = (
    ("__properties_version1.0", MSG),
    ("WordDocument", DOC),
    ("PowerPoint Document", PPT),
    ("Workbook", XLS),
    ("Book", XLS),
)


def _inside_ole(data: bytes) -> str | None:
    """What an OLE container holds, by the names of its streams."""
    return next((kind for stream, kind in _OLE_STREAMS if stream.encode("utf-16-le") in data), None)


def _is_encrypted_office(data: bytes) -> bool:
    """Office puts an encrypted document into an OLE container under this name."""
    return "EncryptedPackage".encode("utf-16-le") in data


def _inside_zip(data: bytes, name: str) -> str | None:
    archive = peek_archive(data, name=name)
    members = set(archive.namelist())
    if "mimetype" in members:
        return read_member(archive, "mimetype", name=name, at_most=200).decode("ascii", "replace").strip()
    if CONTENT_TYPES in members:
        listed = read_member(archive, CONTENT_TYPES, name=name, at_most=_PEEK * 16)
        return next((mime_type for mark, mime_type in _MAIN_PARTS if mark in listed), None)
    return EPUB if "META-INF/container.xml" in members else None


_INTERPRETERS: Final = (
    (rb"python", "text/x-python"),
    (rb"node|deno", "text/javascript"),
    (rb"ruby", "text/x-ruby"),
    (rb"perl", "text/x-perl"),
    (rb"sh\b", "text/x-shellscript"),
)
_MAIL_HEADER = re.compile(
    rb"^(?:from|to|subject|date|received|return-path|message-id|mime-version|delivered-to|dkim-signature):",
    re.IGNORECASE | re.MULTILINE,
)
_FEWEST_MAIL_HEADERS: Final = 3


def _by_first_bytes(data: bytes, *, generic: bool) -> str | None:
    """HTML and XML by their first tag; for a name that says nothing also scripts, mail and JSON."""
    head = data[:_PEEK].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"%!PS"):
        return "application/postscript"
    lower = head[:1024].lower()
    if lower.startswith((b"<!doctype html", b"<html")):
        return HTML
    if lower.startswith(b"<?xml"):
        return HTML if b"<html" in lower else XML
    return _by_shape(head) if generic else None


def _by_shape(head: bytes) -> str | None:
    line = head.partition(b"\n")[0]
    headers = len(_MAIL_HEADER.findall(head.partition(b"\n\n")[0].partition(b"\r\n\r\n")[0]))
    if headers >= _FEWEST_MAIL_HEADERS or (headers and line.startswith(b"From ")):
        return MBOX if line.startswith(b"From ") else MAIL
    if line.startswith((b".TH ", b".Dd ", b'.\\"', b"'\\\"")) and re.search(
        rb"^\.(?:TH|SH|Dd|Sh)\b", head, re.MULTILINE
    ):
        return MAN
    if line.startswith(b"#!"):
        return next((kind for pattern, kind in _INTERPRETERS if re.search(pattern, line)), None)
    if line.startswith(b"{") and line.rstrip().endswith(b"}") and head.count(b"\n{"):
        return JSONL
    if re.match(rb'[\[{]\s*(?:["\[{\]}]|-?\d)', head):
        return JSON
    return None
