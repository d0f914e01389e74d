"""The synchronous connection: it repeats what the asynchronous client repeats."""

from typing import Any

import pytest

from remora.errors import ModelError
from remora.models.address import parse_address
from remora.models.door import Door
from remora.models.retry import Limits

KEY = "sk-very-secret"


@pytest.fixture
def door(misbehaving: Any) -> Any:
    limits = Limits(timeout_s=0.5, retries=2, backoff_s=0.001)
    door = Door(parse_address(misbehaving.address), key=KEY, limits=limits)
    yield door
    door.close()


@pytest.mark.parametrize("status", [503, 0])
def test_counting_survives_a_busy_server(
    door: Door, misbehaving: Any, canned: Any, status: int
) -> None:
    misbehaving.routes["/tokenize"] = [canned(status=status), canned(body={"tokens": []})]
    assert door.post("/tokenize", {}) == {"tokens": []}
    assert misbehaving.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("status", "times"), [(503, 3), (0, 3), (400, 1), (401, 1)])
def test_what_does_not_pass_is_a_model_error_without_the_key(
    door: Door, misbehaving: Any, canned: Any, status: int, times: int
) -> None:
    misbehaving.routes["/tokenize"] = canned(status=status, body={"error": f"bad {KEY}"})
    with pytest.raises(ModelError) as caught:
        door.post("/tokenize", {})
    assert KEY not in caught.value.message
    assert len(misbehaving.seen) == times


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>"])
def test_an_answer_that_is_no_object_is_a_model_error(
    door: Door, misbehaving: Any, canned: Any, body: bytes
) -> None:
    misbehaving.routes["/tokenize"] = canned(body=body)
    with pytest.raises(ModelError, match="no client can use"):
        door.post("/tokenize", {})


def test_a_look_gives_the_object_or_the_status(door: Door, misbehaving: Any, canned: Any) -> None:
    misbehaving.routes |= {"/a": canned(body={}), "/b": canned(body=b"x"), "/c": canned(status=500)}
    root = door.address.root
    assert [door.look("GET", f"{root}/{path}") for path in "abcd"] == [{}, 200, 500, 404]


def test_a_silent_server_is_not_waited_for_twice(door: Door, misbehaving: Any, canned: Any) -> None:
    misbehaving.routes["/tokenize"] = canned(delay_s=0.8)
    with pytest.raises(ModelError, match=r"within 0\.5 s"):
        door.post("/tokenize", {})
    assert len(misbehaving.seen) == 1
