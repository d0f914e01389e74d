"""A model server that Remora does not start: llama.cpp with the embedded model's weights."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTEXT = 4096
SLOTS = 2


@contextmanager
def independent_server(weights: Path, context: int = CONTEXT) -> Iterator[str]:
    """Serve the weights in another process. Yields the address of its API."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.independent_server", str(weights), str(context)],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        address = child.stdout.readline().strip()
        assert address, "the server did not start"
        yield f"{address}/v1"
    finally:
        child.stdin.close()
        child.stdout.close()
        child.wait()


def main() -> None:
    announcements = os.dup(1)
    os.dup2(2, 1)  # native code prints to standard output
    os.putenv("OMP_WAIT_POLICY", "passive")
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {"independent"}
    params.port = 0
    params.n_ctx = int(sys.argv[2]) * SLOTS
    params.n_parallel = SLOTS
    params.fit_params = False
    params.ui = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    os.write(announcements, f"{server.listening_address}\n".encode())
    sys.stdin.read()
    os._exit(0)  # native destructors could hang


if __name__ == "__main__":
    main()
