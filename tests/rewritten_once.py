"""Test modules with pytest's assertions: each process of a run compiles its share for all of them."""

import sys
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import (
    PYC_TAIL,
    _read_pyc,
    _rewrite_test,
    _write_pyc,
    assertstate_key,
    get_cache_dir,
)


def rewrite_share(config: pytest.Config) -> None:
    """Compile the share of this process that is not compiled yet."""
    worker = getattr(config, "workerinput", None)  # of pytest-xdist
    if worker is None or sys.dont_write_bytecode:
        return
    number = int(worker["workerid"].removeprefix("gw"))
    modules = sorted(Path(__file__).parent.rglob("test_*.py"))
    for module in modules[number :: worker["workercount"]]:
        compiled = get_cache_dir(module) / f"{module.stem}{PYC_TAIL}"
        if _read_pyc(module, compiled) is None:
            compiled.parent.mkdir(exist_ok=True)
            status, code = _rewrite_test(module, config)
            _write_pyc(config.stash[assertstate_key], code, status, compiled)
