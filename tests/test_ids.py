"""Names of runs, agents and nodes."""

import hashlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.ids import MODULE, agent_id, escape_path, is_id, node_key, split_node_key, unescape_path


def test_an_agents_id_is_made_of_run_node_and_attempt() -> None:
    digest = hashlib.sha256(b"run-1 node:a.py:f 2").hexdigest()
    assert agent_id("lint", "run-1", "node:a.py:f", 2) == f"lint-{digest[:12]}"


@pytest.mark.parametrize("name", ["a", "0", "20260131-093000-1f2e3d", "a.b_c-d", "a" * 64])
def test_valid_ids(name: str) -> None:
    assert is_id(name)


@pytest.mark.parametrize("name", ["", "A", ".a", "-a", "_a", "a/b", "..", "a\n", "ä", "a" * 65])
def test_invalid_ids(name: str) -> None:
    assert not is_id(name)


def test_a_path_is_spelled_with_what_utf8_lacks_as_percent() -> None:
    assert escape_path("src/ä b.py") == "src/ä b.py"
    assert escape_path("100%.py") == "100%25.py"
    assert escape_path(os.fsdecode(b"caf\xe9%41.py")) == "caf%E9%2541.py"


@given(st.binary(max_size=40))
def test_any_name_of_a_file_comes_back_from_its_spelling(name: bytes) -> None:
    path = name.decode("utf-8", "surrogateescape")
    spelled = escape_path(path)
    spelled.encode()  # can be written to a stream
    assert unescape_path(spelled) == path


@given(st.text(max_size=20), st.sampled_from(["f", "A.f", "f#2.inner", MODULE]))
def test_the_last_colon_of_a_key_splits(path: str, qualname: str) -> None:
    assert split_node_key(node_key(path, qualname)) == (path, qualname)
