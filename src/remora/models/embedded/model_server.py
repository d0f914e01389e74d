"""Child process that serves the embedded model. It does not import other Remora modules.

The API key is read from the first line of standard input. The server's address is the only line
written to standard output. The process exits when standard input is closed, which also happens if
the parent is killed.
"""

import importlib
import json
import os
import select
import sys
import threading
from typing import Any

_CHECK_PARENT_S = 2.0


def main() -> None:
    """Serve until end-of-file on standard input."""
    options = json.loads(sys.argv[1])  # those of ServerOptions
    parent = os.getppid()
    key = _first_line()
    announcements = _redirect_stdout()
    # before libgomp loads: otherwise its threads spin, 6 to 80 times slower on a busy machine
    os.putenv("OMP_WAIT_POLICY", "passive")
    os.putenv("GOMP_SPINCOUNT", "0")
    # started first: the parent may be killed while the model loads
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    server = _serve(options, key)
    line = json.dumps({"address": server.listening_address})
    os.write(announcements, line.encode("ascii") + b"\n")
    threading.Event().wait()


def _redirect_stdout() -> int:
    """Redirect standard output to standard error, and return a copy of the original.

    This is necessary because native code also prints to standard output.
    """
    private = os.dup(1)
    os.dup2(2, 1)
    return private


def _first_line() -> str:
    """Read the first line of standard input, one byte at a time.

    The rest must remain unread for the thread that watches standard input.
    """
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode("ascii")


def _serve(options: dict[str, Any], key: str) -> Any:
    # by name: the engine is an optional extra without type hints
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = options["weights"]
    params.model_alias = {options["name"]}
    params.api_keys = [key]
    params.port = 0
    params.n_ctx = options["context"] * options["slots"]
    params.n_parallel = options["slots"]
    params.cpuparams.n_threads = options["writers"]
    params.cpuparams_batch.n_threads = options["threads"]
    params.cache_ram_mib = options["cache_mib"]
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
    # no cleanup: there is nothing to save, and native destructors could hang
    os._exit(0)


if __name__ == "__main__":
    main()
