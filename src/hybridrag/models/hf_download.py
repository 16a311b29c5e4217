"""Get a model from Hugging Face, once; afterwards it is found on disk without the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hybridrag.errors import ModelUnavailable
from hybridrag.models.progress import Progress, no_progress
from hybridrag.models.sentence_model import SETTINGS_FILES, TOKENIZER_FILE, USE_SENTENCE_TRANSFORMERS, choose_onnx

FOLDER = "huggingface"
"""Under the cache folder of the settings."""
INSTALL = "Run: pip install 'hybridrag[huggingface]'"
UNREACHABLE = "it is not on this computer, and Hugging Face cannot be reached"
CONNECT_SECONDS = 10.0
OFFLINE = "Connect once to download it, or set `embedding.model` to a folder that holds it."


def find_model(name: str, *, cache_dir: Path, on_progress: Progress | None = None, endpoint: str | None = None) -> Path:
    """The folder of a model by its Hugging Face name, downloaded where it is not on this machine yet.

    find_model("intfloat/multilingual-e5-small", cache_dir=folder) -> the folder of its files

    Raises:
        ModelUnavailable: no such model, no ONNX file in it, offline, or huggingface_hub is not installed.
    """
    hub = _import_hub(name)
    cache = cache_dir / FOLDER
    # What the user's other programs have downloaded already is used too.
    found = _find_local(hub, name, cache) or _find_local(hub, name, None)
    if found is not None:
        return found
    tell = on_progress or no_progress
    tell(f"downloading {name}", 0.0)
    _require_connection(hub, name, endpoint)
    with _explained(hub, name), _quiet(hub):
        files = hub.HfApi(endpoint=endpoint).list_repo_files(name)
        onnx = choose_onnx(files)
        if onnx is None:
            raise ModelUnavailable(name, "it has no ONNX file on Hugging Face", hint=USE_SENTENCE_TRANSFORMERS)
        # Weights over 2 GB lie beside the graph: model.onnx_data, model.onnx.data
        wanted = [onnx, f"{onnx}_data*", f"{onnx}.data*", *SETTINGS_FILES]
        folder = hub.snapshot_download(name, cache_dir=str(cache), allow_patterns=wanted, endpoint=endpoint)
    tell(f"downloading {name}", 1.0)
    return Path(folder)


def _import_hub(name: str) -> Any:
    try:
        import huggingface_hub  # noqa: PLC0415 (optional)
    except ImportError as cause:
        raise ModelUnavailable(
            name, "the package huggingface_hub, which downloads models, is not installed", hint=INSTALL
        ) from cause
    return huggingface_hub


def _require_connection(hub: Any, name: str, endpoint: str | None) -> None:
    """Say offline at once: the library would first try again for half a minute."""
    import httpx  # noqa: PLC0415 (keeps start-up fast)

    if hub.constants.HF_HUB_OFFLINE:
        raise ModelUnavailable(
            name, "it is not on this computer, and HF_HUB_OFFLINE forbids to download it", hint=OFFLINE
        )
    try:
        httpx.head(endpoint or hub.constants.ENDPOINT, timeout=CONNECT_SECONDS)
    except httpx.TransportError as cause:
        raise ModelUnavailable(name, UNREACHABLE, hint=OFFLINE) from cause


def _find_local(hub: Any, name: str, cache: Path | None) -> Path | None:
    try:
        tokenizer = hub.try_to_load_from_cache(name, TOKENIZER_FILE, cache_dir=None if cache is None else str(cache))
    except ValueError:
        return None  # not a name that Hugging Face allows; asking for it explains that
    if not isinstance(tokenizer, str):
        return None
    folder = Path(tokenizer).parent
    return folder if choose_onnx(path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx")) else None


@contextmanager
def _explained(hub: Any, name: str) -> Iterator[None]:
    """Turn the library's errors into one sentence each."""
    errors = hub.errors
    try:
        yield
    except ModelUnavailable:
        raise
    except errors.GatedRepoError as cause:
        hint = f"Accept its terms at https://huggingface.co/{name} and run: hf auth login"
        raise ModelUnavailable(name, "its owner asks for consent first", hint=hint) from cause
    except errors.RepositoryNotFoundError as cause:
        raise ModelUnavailable(
            name,
            "there is no public model of that name on Hugging Face",
            hint="Check `embedding.model`; for a private one run: hf auth login",
        ) from cause
    except errors.HFValidationError as cause:
        hint = "Use owner/name as on Hugging Face, or the path of a folder."
        raise ModelUnavailable(name, "that is no name of a model, and no folder", hint=hint) from cause
    except Exception as cause:  # the library passes on errors of whichever HTTP client its version uses
        raise ModelUnavailable(name, f"{UNREACHABLE} ({type(cause).__name__})", hint=OFFLINE) from cause


@contextmanager
def _quiet(hub: Any) -> Iterator[None]:
    """No progress bars of the library's own: `on_progress` tells."""
    bars = hub.utils
    if bars.are_progress_bars_disabled():
        yield
        return
    bars.disable_progress_bars()
    try:
        yield
    finally:
        bars.enable_progress_bars()
