"""Run `main.py` of each folder under `sys.setprofile` and print its calls as JSON.

`python tracer.py FOLDER…` prints one line per folder. Codes are [path, first line, qualified name].
Every program runs in a fork, so that it does not see the modules of others.
"""

import json
import os
import runpy
import sys
import threading
from importlib import import_module
from types import CodeType, FrameType

# loaded once, before the forks
WARM = ("asyncio", "dataclasses", "enum", "functools", "contextlib", "typing")


def main(folders: list[str]) -> int:
    """Print one document per folder; return 1 at the first program that fails."""
    for module in WARM:
        import_module(module)
    for folder in folders:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _child(folder)
        if os.waitpid(child, 0)[1]:
            return 1
    return 0


def _child(folder: str) -> None:
    code = 1
    try:
        documents, sys.stdout = sys.stdout, sys.stderr  # a program may print
        print(json.dumps(trace(folder)), file=documents, flush=True)
        code = 0
    except BaseException:  # noqa: BLE001 - a fork must never return to its parent's loop
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def trace(folder: str) -> dict[str, object]:
    """Run the program in this process and return its calls."""
    prefix = folder + "/"
    direct: set[tuple[CodeType, CodeType]] = set()
    through: set[tuple[CodeType, CodeType]] = set()

    def ours(frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(prefix)

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not ours(frame):
            return
        caller = frame.f_back
        pairs = direct
        while caller is not None and not ours(caller):
            caller, pairs = caller.f_back, through
        if caller is not None:
            pairs.add((caller.f_code, frame.f_code))

    os.chdir(folder)
    sys.path[0] = folder
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        runpy.run_path(f"{folder}/main.py", run_name="__main__")
    finally:
        sys.setprofile(None)

    def code_id(code: CodeType) -> list[object]:
        name = code.co_filename.removeprefix(prefix)
        return [name, code.co_firstlineno, code.co_qualname]

    return {
        kind: [[code_id(a), code_id(b)] for a, b in pairs]
        for kind, pairs in (("direct", direct), ("through", through))
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
