"""A larger model on a server of its own is asked for what a smaller one cannot answer."""

import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.cli.conftest import Remora, check_records, tree
from tests.misbehaving_server import FAULTS, good
from tests.openai_server import Chat, Handler, Server, openai_server

ANSWER = "Keep what a visitor picked"
LIMIT_S = 60.0
DOCSTRING = ("analyze", "-o", "docstring", "--json")


class Servers:
    """A small model that is of no use, and a larger one."""

    def __init__(self, small: Server, large: Server) -> None:
        self.small = small
        self.large = large

    @property
    def environ(self) -> dict[str, str]:
        return {
            "REMORA_MODEL__BASE_URL": self.small.address,
            "REMORA_RUNNER__DECISIONS": "model",
            "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "12000",
            "REMORA_MODEL__RETRIES": "0",
            "REMORA_ESCALATION__ENABLED": "true",
            "REMORA_ESCALATION__BASE_URL": self.large.address,
        }


@contextmanager
def servers(small: Chat = FAULTS["prose"], large: Chat = good) -> Iterator[Servers]:
    with openai_server(small, model="small") as one, openai_server(large, model="large") as other:
        yield Servers(one, other)


def types_of(user: Remora, root: Path) -> list[str]:
    shown = user("trace", "show", "cart.py:Cart.add", "--json", cwd=root).document
    return [event["type"] for event in shown["events"]]


def exported(user: Remora, root: Path) -> list[dict[str, Any]]:
    done = user("trace", "export", "--run", "last", "--format", "sft", "-o", "-", cwd=root)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize("fault", ["prose", pytest.param("half a call", marks=pytest.mark.slow)])
def test_the_larger_models_text_is_used(poor: Remora, cart: Path, fault: str) -> None:
    before = tree(cart)
    with servers(FAULTS[fault]) as models:
        done = replace(poor, environ=models.environ)(*DOCSTRING, cwd=cart)
    (job,) = done.document["jobs"]
    assert (done.code, job["status"]) == (0, "verified"), done.err
    assert job["decided_by"]["escalation"] > 0
    assert len(models.small.requests) == 3, "invalid calls in a row"
    assert len(models.large.requests) == 1, "a docstring, which rules submit"
    assert ANSWER in poor("diff", "last", cwd=cart).out
    assert tree(cart) == before
    assert "escalation" in types_of(poor, cart)
    shown = poor("trace", "show", "cart.py:Cart.add", cwd=cart).out
    assert "escalation      to large: 3 invalid calls in a row: " in shown
    assert "History:" in str(models.large.requests[-1]["messages"])
    assert "History:" not in str(models.small.requests[-1]["messages"])
    check_records(poor, cart)
    rows = exported(poor, cart)
    assert {row["model"] for row in rows} == {"small", "large"}
    assert {row["model"] for row in rows if row["outcome"] == "success"} == {"large"}


@pytest.mark.slow
def test_a_fork_before_the_question_escalates_again(poor: Remora, cart: Path) -> None:
    with servers() as models:
        user = replace(poor, environ=models.environ)
        (job,) = user(*DOCSTRING, cwd=cart).document["jobs"]
        asked = len(models.large.requests)
        forked = user("trace", "fork", job["agent_id"], "--turn", "1", "--json", cwd=cart)
        assert forked.code == 0, forked.err
        resumed = user("analyze", "--resume", "last", "--json", cwd=cart)
        assert resumed.code == 0, resumed.err
        assert len(models.large.requests) == 2 * asked
    check_records(poor, cart)


def killed_while_the_larger_model_answers(poor: Remora, cart: Path) -> int:
    """Kill a run that waits for the larger model; return how often the small one was asked."""
    is_asked, is_over = Event(), Event()

    def waits(_handler: Handler, _request: dict[str, Any], _number: int) -> None:
        is_asked.set()
        is_over.wait(LIMIT_S)

    with servers(large=waits) as models:
        process = replace(poor, environ=models.environ).start(*DOCSTRING, cwd=cart)
        assert is_asked.wait(LIMIT_S)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        is_over.set()
        return len(models.small.requests)


@pytest.mark.slow
def test_a_run_that_was_killed_in_the_middle_is_resumed(poor: Remora, cart: Path) -> None:
    assert killed_while_the_larger_model_answers(poor, cart) == 3
    without = poor("analyze", "--resume", "last", "--json", cwd=cart)
    assert without.code == 2
    assert "the run used the model small at http://127.0.0.1:" in without.error["message"]
    assert "pass `--model http://127.0.0.1:" in without.error["hint"]
    with servers() as models:
        user = replace(poor, environ=models.environ)
        done = user("analyze", "--resume", "last", "--json", cwd=cart)
    (job,) = done.document["jobs"]
    assert (done.code, job["status"]) == (0, "verified"), done.err
    assert ANSWER in poor("diff", "last", cwd=cart).out
    assert models.small.requests == [], "answers are kept"
    check_records(poor, cart)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"REMORA_ESCALATION__ENABLED": "false"}, "no larger model"),
        pytest.param(
            {"REMORA_ESCALATION__NAME": "other"}, "the larger model other", marks=pytest.mark.slow
        ),
    ],
    ids=["off", "another"],
)
def test_a_resumed_run_keeps_its_larger_model(
    poor: Remora, cart: Path, change: Mapping[str, str], found: str
) -> None:
    killed_while_the_larger_model_answers(poor, cart)
    with servers() as models:
        user = replace(poor, environ={**models.environ, **change})
        done = user("analyze", "--resume", "last", "--json", cwd=cart)
    assert done.code == 3
    assert f"used the larger model large, but {found} is configured" in done.error["message"]
    assert models.large.requests == []


SMALL, LARGE = "key-of-the-small-model-1", "key-of-the-large-model-2"
FROM_ENVIRONMENT = {"REMORA_API_KEY": SMALL, "REMORA_ESCALATION_API_KEY": LARGE}


def test_each_server_gets_its_own_key_and_a_refusal_names_the_variable_of_the_larger_model(
    poor: Remora, cart: Path
) -> None:
    with servers(large=FAULTS["wrong key"]) as models:
        done = replace(poor, environ={**models.environ, **FROM_ENVIRONMENT})(*DOCSTRING, cwd=cart)
    assert models.large.requests, done.err
    assert set(models.small.keys) == {f"Bearer {SMALL}"}
    assert set(models.large.keys) == {f"Bearer {LARGE}"}
    shown = poor("trace", "show", "cart.py:Cart.add", "--json", cwd=cart).document
    errors = [one["data"] for one in shown["events"] if one["type"] == "agent_error"]
    said = "set REMORA_ESCALATION_API_KEY to a key that this server accepts"
    assert errors[-1]["hint"] == said
