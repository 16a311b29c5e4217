"""Open ONNX models for one-thread runs, and their tokenizers; the callers put several texts on several threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridrag.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_ERRORS_ONLY = 3
"""onnxruntime's severity; its warnings are for its developers and would land in the user's terminal."""


def open_session(path: Path, *, model: str, optimise: bool = False) -> Any:
    """An `onnxruntime.InferenceSession` on the processor; `run` of it is thread-safe.

    `optimise` lets onnxruntime rewrite the graph: good for graphs as exported, not for one written in its operators.

    Raises:
        ModelUnavailable: the file is missing, damaged, or needs another onnxruntime.
    """
    import onnxruntime  # noqa: PLC0415 (keeps start-up fast)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # Lengths differ from run to run, so a plan of the memory for one length helps no other.
    options.enable_mem_pattern = False
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as cause:  # onnxruntime raises a dozen kinds with no common base but Exception
        raise ModelUnavailable(
            model, f"onnxruntime cannot open {path}", hint="The file may be damaged: delete it and try again."
        ) from cause


def open_tokenizer(path: Path, *, model: str) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`; it neither cuts nor pads, whatever the file says.

    Raises:
        ModelUnavailable: the file is damaged.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415 (keeps start-up fast)

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as cause:  # the library raises plain Exception
        raise ModelUnavailable(
            model, f"{path} cannot be read", hint="Delete it and download the model again."
        ) from cause
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
