"""A sentence-embedding model as it lies in a folder: the layout that Hugging Face and sentence-transformers share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridrag.errors import ModelUnavailable
from hybridrag.models.prefixes import Prefixes, prefixes_of

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "config.json"
SETTINGS_FILES = (
    TOKENIZER_FILE,
    CONFIG_FILE,
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
)
ONNX_PREFERENCE = (
    "onnx/model.onnx",
    "model.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_int8.onnx",
    "onnx/model_uint8.onnx",
)
"""The exact model first; the others by how many processors run them well."""
DEFAULT_MAX_TOKENS = 512
USE_SENTENCE_TRANSFORMERS = (
    "Run: pip install 'hybridrag[sentence-transformers]', and set `embedding.provider` to `sentence-transformers`."
)

_POOLING_KEYS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "lasttoken",
}
_POOLINGS = frozenset(_POOLING_KEYS.values())
_HARMLESS_MODULES = ("Transformer", "Pooling", "Normalize")
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """What a folder says about its model."""

    name: str
    onnx: Path
    tokenizer: Path
    pooling: str
    dimension: int
    max_tokens: int
    """Tokens in all, special ones included."""
    prefixes: Prefixes
    fingerprint: str


def choose_onnx(files: Iterable[str]) -> str | None:
    """Which of a repository's files to run, or None when it has no ONNX model.

    ["README.md", "onnx/model_O4.onnx", "onnx/model.onnx"] -> "onnx/model.onnx"
    """
    found = sorted(file for file in files if file.endswith(".onnx"))
    return next((file for file in ONNX_PREFERENCE if file in found), found[0] if found else None)


def read_sentence_model(folder: Path, *, name: str) -> SentenceModel:
    """Read the layout; opens no weights.

    Raises:
        ModelUnavailable: a part is missing, or the model needs more than a transformer, pooling and length one.
    """
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx")]
    onnx = choose_onnx(files)
    if onnx is None:
        raise ModelUnavailable(name, f"{folder} holds no ONNX file", hint=USE_SENTENCE_TRANSFORMERS)
    if not (folder / TOKENIZER_FILE).is_file():
        raise ModelUnavailable(name, f"{folder} holds no {TOKENIZER_FILE}", hint=USE_SENTENCE_TRANSFORMERS)
    _refuse_other_modules(folder, name)
    config = read_settings(folder, CONFIG_FILE, name)
    pooling = _pooling(read_settings(folder, "1_Pooling/config.json", name), name)
    prefixes = _prefixes(read_settings(folder, "config_sentence_transformers.json", name), name)
    dimension = config.get("hidden_size") or config.get("dim") or config.get("d_model")
    if not isinstance(dimension, int):
        raise ModelUnavailable(name, f"{folder / CONFIG_FILE} says no `hidden_size`", hint=USE_SENTENCE_TRANSFORMERS)
    return SentenceModel(
        name=name,
        onnx=folder / onnx,
        tokenizer=folder / TOKENIZER_FILE,
        pooling=pooling,
        dimension=dimension,
        max_tokens=max_tokens_of(folder, config, name),
        prefixes=prefixes,
        fingerprint=_fingerprint(folder / onnx, folder / TOKENIZER_FILE, pooling, prefixes),
    )


def read_settings(folder: Path, file: str, name: str) -> dict[str, Any]:
    """A JSON object of the folder; empty where there is no such file.

    Raises:
        ModelUnavailable: it is not JSON.
    """
    path = folder / file
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise ModelUnavailable(
            name, f"{path} cannot be read", hint="Delete it and download the model again."
        ) from cause
    return value if isinstance(value, dict) else {}


def _refuse_other_modules(folder: Path, name: str) -> None:
    path = folder / "modules.json"
    if not path.is_file():
        return
    try:
        kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise ModelUnavailable(
            name, f"{path} cannot be read", hint="Delete it and download the model again."
        ) from cause
    other = next((kind for kind in kinds if kind not in _HARMLESS_MODULES), None)
    if other is not None:
        raise ModelUnavailable(name, f"its {other} layer is not part of the ONNX file", hint=USE_SENTENCE_TRANSFORMERS)


def _pooling(config: dict[str, Any], name: str) -> str:
    mode = config.get("pooling_mode")
    modes = [mode] if isinstance(mode, str) else list(mode or [])
    modes = modes or [kind for key, kind in _POOLING_KEYS.items() if config.get(key)] or ["mean"]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise ModelUnavailable(
            name, f"its pooling {'+'.join(map(str, modes))} is not known", hint=USE_SENTENCE_TRANSFORMERS
        )
    return str(modes[0])


def _prefixes(config: dict[str, Any], name: str) -> Prefixes:
    """What the folder says; where it says nothing, what the model's name says."""
    prompts = config.get("prompts") or {}
    query = prompts.get("query") or ""
    passage = prompts.get("document") or prompts.get("passage") or ""
    return Prefixes(query, passage) if query or passage else prefixes_of(name)


def max_tokens_of(folder: Path, config: dict[str, Any], name: str) -> int:
    """How many tokens the model reads at once, special ones included."""
    said = read_settings(folder, "sentence_bert_config.json", name).get("max_seq_length")
    positions = config.get("max_position_embeddings")
    if isinstance(said, int) and said > 0:
        return said
    if isinstance(positions, int) and positions > 0:
        # RoBERTa and its kin start counting after the padding id, so two positions are never used.
        return positions - 2 if positions % 128 == 2 else positions
    return DEFAULT_MAX_TOKENS


def _fingerprint(onnx: Path, tokenizer: Path, pooling: str, prefixes: Prefixes) -> str:
    """From sizes and samples of the content, so that a copied folder keeps it and nothing large is read."""
    digest = hashlib.sha256(f"{pooling}\0{prefixes.query}\0{prefixes.passage}".encode())
    for path in (onnx, *sorted(onnx.parent.glob(f"{onnx.name}?*")), tokenizer):
        size = path.stat().st_size
        digest.update(f"\0{path.name}:{size}\0".encode())
        with path.open("rb") as file:
            for place in (0, size // 3, size // 2, max(0, size - _SAMPLE_BYTES)):
                file.seek(place)
                digest.update(file.read(_SAMPLE_BYTES))
    return f"onnx-{digest.hexdigest()[:16]}"
