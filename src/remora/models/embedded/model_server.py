"""The child process that serves the embedded model.

Run by path, so it imports nothing of Remora. Its key is the first line of standard input, its address the only line of standard output. It
ends when standard input does, so also when its parent is killed.
"""

import argparse
import importlib
import json
import os
import select
import threading
from typing import Any

_CHECK_PARENT_S = 2.0


def main() -> None:
    """Serve until end-of-file on standard input."""
    options = _options()
    parent = os.getppid()
    key = _first_line()
    answers = _keep_stdout()
    # before libgomp is loaded: its threads spin otherwise, 6 to 80 times slower on a busy machine
    os.putenv("OMP_WAIT_POLICY", "passive")
    os.putenv("GOMP_SPINCOUNT", "0")
    # a parent that dies while the model loads must not leave us behind
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    server = _serve(options, key)
    line = json.dumps({"address": server.listening_address})
    os.write(answers, line.encode("ascii") + b"\n")
    threading.Event().wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--context", type=int, required=True, help="tokens per slot")
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--cache-mib", type=int, required=True)
    return parser.parse_args()


def _keep_stdout() -> int:
    """A private copy of standard output; what native code prints goes to standard error."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


def _first_line() -> str:
    """Of standard input, byte by byte: what follows belongs to the watching thread."""
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode("ascii")


def _serve(options: argparse.Namespace, key: str) -> Any:
    # by name: the engine is an optional extra without type information
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = options.weights
    params.model_alias = {options.name}
    params.api_keys = [key]
    params.port = 0
    params.n_ctx = options.context * options.slots
    params.n_parallel = options.slots
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.cache_ram_mib = options.cache_mib
    params.fit_params = False
    params.endpoint_slots = False
    params.ui = False
    params.verbosity = 0
    return xllamacpp.Server(params)


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], _CHECK_PARENT_S)
        if readable and not os.read(0, 4096):
            break
    # no clean-up: nothing is worth keeping, and native destructors could hang
    os._exit(0)


if __name__ == "__main__":
    main()
