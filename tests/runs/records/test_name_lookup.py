"""Short names: what they mean, and what is told where they mean nothing or too much."""

import pytest

from remora.errors import NotFound, UsageError
from remora.runs.records.name_lookup import run_named, stream_named
from tests.runs.conftest import RULES, UNUSED, Desk, Kept, analyzed

TWO = UNUSED + "\n\n" + UNUSED.replace("def load", "def store")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return analyzed(
        tmp_path_factory.mktemp("shop"), {"a.py": TWO, "b.py": UNUSED, "ruff.toml": RULES}
    )


@pytest.fixture
def shop(kept: Kept) -> Desk:
    """A project after a run."""
    return kept.again()


def test_a_node_of_the_newest_run_names_its_agent(shop: Desk) -> None:
    newest = shop.analyze()
    folder = shop.project.trace
    agent = shop.job(newest, "store").agent_id
    for name in ("store", "a.py:store", "node:a.py:store", "a.py:st*", agent, agent[:-2]):
        assert stream_named(folder, name) == agent, name
    assert stream_named(folder, "last") == run_named(folder, "last") == newest


def test_a_node_that_more_than_one_file_has_is_not_guessed(shop: Desk) -> None:
    run_id = shop.newest
    with pytest.raises(UsageError) as caught:
        stream_named(shop.project.trace, "load")
    assert all(
        job.agent_id in caught.value.hint
        for job in shop.view(run_id).jobs
        if job.node_id.endswith(":load")
    )


def test_an_unknown_name_shows_the_nearest_nodes(shop: Desk) -> None:
    with pytest.raises(NotFound) as caught:
        stream_named(shop.project.trace, "stroe")
    assert "a.py:store" in caught.value.hint


def test_a_damaged_newest_run_hides_no_agent(shop: Desk) -> None:
    run_id = shop.newest
    agent = shop.job(run_id, "store").agent_id
    with shop.project.trace.run_stream(run_id).open("ab") as file:
        file.write(b"{}\n")
    assert stream_named(shop.project.trace, "store") == agent
    assert stream_named(shop.project.trace, agent) == agent
