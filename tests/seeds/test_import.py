"""The memory is light: other programs import it for a ContextManager alone."""

import json
import os
import subprocess
import sys
from time import perf_counter

import pytest

USE = "import remora; remora.ContextManager('goal').get_prompt_context()"
LOADED = "; import sys, json; print(json.dumps([*sys.modules]))"


ENVIRON = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Compiled modules are kept, as for users. The first of several runs may compile them."""


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=ENVIRON
    ).stdout


def seconds(code: str) -> float:
    started = perf_counter()
    run(code)
    return perf_counter() - started


def packages(code: str) -> set[str]:
    names = {name.partition(".")[0] for name in json.loads(run(code + LOADED))}
    return names - sys.stdlib_module_names


def test_no_package_but_msgspec_is_loaded() -> None:
    assert packages(USE) - packages("import msgspec") == {"remora"}


@pytest.mark.slow  # a time, which other tests beside it would spoil
def test_it_takes_at_most_six_starts_of_python() -> None:
    times = [(seconds(USE), seconds("pass")) for _ in range(7)]
    used, bare = (min(column) for column in zip(*times, strict=True))
    assert used <= 6 * bare
