"""Parsing of Python text by several threads."""

import gc
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora import python_text

TEXT = Path(python_text.__file__).read_text() * 20


@pytest.fixture
def restless() -> Iterator[None]:
    """An interpreter that often collects garbage, and lets another thread run meanwhile."""

    def yield_thread(*_: object) -> None:
        time.sleep(0)

    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(yield_thread)
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)
    gc.callbacks.remove(yield_thread)


@pytest.mark.usefixtures("restless")
def test_threads_do_not_disturb_each_other() -> None:
    errors: list[Exception] = []

    def parse_often() -> None:
        try:
            for _ in range(5):
                python_text.parse(TEXT)
        except SystemError as error:
            errors.append(error)

    threads = [threading.Thread(target=parse_often) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_warnings_are_hidden() -> None:
    python_text.parse(r"'\d'")
    assert python_text.literal(r" '\d'") == r"\d"
