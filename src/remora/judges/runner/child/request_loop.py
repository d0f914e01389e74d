"""Reads orders from standard input and runs them."""

from __future__ import annotations

import contextlib
import json
import os
import sys

from .code_run import run_code
from .determinism import block_network, open_as_ascii, rename_host, shift_clocks
from .fork import Order, in_child, write
from .function_calls import run_calls
from .pytest_run import run_tests, run_with_mutants, run_with_probes


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    sys.path[:1] = asked["paths"]
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(asked["folder"])
    os.environ["PYTHONPATH"] = os.pathsep.join(asked["paths"])  # of processes that tests start
    if asked["shift"]:
        shift_clocks(asked["shift"])
    if asked["host"]:
        rename_host(asked["host"])
    if asked["ascii_files"]:
        open_as_ascii()
    block_network()
    needs_pytest = not asked["orders"] or any("ids" in order for order in asked["orders"])
    if needs_pytest and not has_pytest(asked):
        return
    for number, order in enumerate(asked["orders"]):
        run_order(asked, str(number), order)
    write(asked["out"], "done", {})


def has_pytest(asked: Order) -> bool:
    """Import pytest and its plugins, so that child processes need not. Return False without pytest.

    Pytest runs an empty folder, because some plugins import modules as late as at the end of a run.
    """
    try:
        import pytest
    except ImportError:
        write(asked["out"], "pytest", {"missing": sys.executable})
        return False
    words = ["--collect-only", "-q", "-s", "-p", "no:cacheprovider", "--noconftest"]
    with contextlib.suppress(BaseException):  # a run of tests reports it
        pytest.main([*words, "-c", os.devnull, "--rootdir", asked["out"], asked["out"]])
    return True


def run_order(asked: Order, name: str, order: Order) -> None:
    """Run an order in a child process, within the order's time limit."""

    def work() -> None:
        if "ids" in order and "mutants" in order:
            run_with_mutants(asked, name, order)
        elif "probes" in order:
            run_with_probes(asked, name, order)
        elif "ids" in order:
            run_tests(asked, name, order)
        elif "code" in order:
            run_code(asked, name, order)
        else:
            run_calls(asked, name, order)

    if not in_child(work, order["seconds"]):
        write(asked["out"], name + "-late", {})
