"""Protocol 1: what a line means, and what is said of a line that means nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.hub.protocol import (
    TYPES,
    GetContext,
    Refused,
    Request,
    answer_line,
    decode_answer,
    decode_request,
    problem_line,
    request_line,
)

BODIES: dict[str, dict[str, Any]] = {
    "get_context": {"nodes": ["node:a.py:f"]},
    "get_node": {"node": "node:a.py:f"},
    "callers": {"node": "node:a.py:f", "depth": 2},
    "callees": {"node": "node:a.py:f"},
    "tests": {"node": "node:a.py:f"},
    "search": {"query": "f", "limit": 3},
    "changed_since": {"generation": -1},
    "subscribe": {},
    "invalidate": {"path": "a.py"},
    "status": {},
    "health": {},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=8,
)


def refused(line: bytes) -> dict[str, Any]:
    with pytest.raises(Refused) as caught:
        decode_request(line)
    said: dict[str, Any] = json.loads(problem_line(caught.value))
    assert set(said) == {"id", "ok", "error"}
    assert said["ok"] is False
    assert set(said["error"]) == {"code", "message"}
    assert said["error"]["message"]
    return said


def test_each_type_has_a_body_and_unknown_keys_are_ignored() -> None:
    assert set(BODIES) == set(TYPES)
    line = answer_line(decode_request(b'{"type": "health"}'), 1, None)
    assert json.loads(line)["id"] is None
    request = decode_request(b'{"type": "get_context", "nodes": [], "later": {"a": 1}}')
    assert request == GetContext(id=request.id, nodes=())
    ok = decode_answer(b'{"id": 1, "ok": true, "generation": 4, "result": {"a": 1}}')
    assert (ok.ok, ok.generation, bytes(ok.result)) == (True, 4, b'{"a": 1}')
    no = decode_answer(b'{"id": 1, "ok": false, "error": {"code": "busy", "message": "m"}}')
    assert no.error is not None
    assert no.error.code == "busy"


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_is_read_as_it_was_written(kind: str) -> None:
    request = decode_request(json.dumps({"type": kind, "id": 7, **BODIES[kind]}).encode())
    assert isinstance(request, TYPES[kind])
    assert json.loads(request_line(request)).items() >= {"type": kind, "id": 7}.items()
    again: Request = decode_request(request_line(request))
    assert request_line(again) == request_line(request)


@given(identity=JSON)
def test_the_id_comes_back_for_any_value(identity: Any) -> None:
    request = decode_request(json.dumps({"id": identity, "type": "health"}).encode())
    assert json.loads(answer_line(request, 3, {})) == {
        "id": identity,
        "ok": True,
        "generation": 3,
        "result": {},
    }
    said = refused(json.dumps({"id": identity, "type": "nothing"}).encode())
    assert said["id"] == identity


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        (b"nonsense", "bad_json", None),
        (b'{"id": 1, "type": "health"', "bad_json", None),
        (b'{"id": 1, "type": "health"} {}', "bad_json", None),
        (b'{"id": "\xff", "type": "health"}', "bad_json", None),
        (b'{"id": NaN, "type": "health"}', "bad_json", None),
        (b"[1, 2", "bad_json", None),
        (b"\xef\xbb\xbf{}", "bad_json", None),
        (b"[]", "bad_request", None),
        (b"null", "bad_request", None),
        (b"3", "bad_request", None),
        (b'"health"', "bad_request", None),
        (b'{"id": 5}', "bad_request", 5),
        (b'{"id": 5, "type": null}', "bad_request", 5),
        (b'{"id": 5, "type": 7}', "bad_request", 5),
        (b'{"id": 5, "type": "get_contexts"}', "unknown_type", 5),
        (b'{"id": 5, "type": "get_context"}', "bad_request", 5),
        (b'{"id": 5, "type": "get_context", "nodes": "a"}', "bad_request", 5),
        (b'{"id": 5, "type": "get_context", "nodes": [1]}', "bad_request", 5),
        (b'{"id": 5, "type": "callers", "node": "a", "depth": 0}', "bad_request", 5),
        (b'{"id": 5, "type": "callers", "node": "a", "depth": "1"}', "bad_request", 5),
        (b'{"id": 5, "type": "search", "query": "a", "limit": -1}', "bad_request", 5),
    ],
)
def test_a_line_that_is_not_a_request_is_reported_what_is_wrong(
    line: bytes, code: str, identity: Any
) -> None:
    said = refused(line)
    assert said["error"]["code"] == code
    assert said["id"] == identity


def test_an_id_that_is_nested_too_deeply_is_refused_or_comes_back() -> None:
    identity = b"[" * 100_000 + b"]" * 100_000
    try:  # how deep is too deep depends on the version of Python
        answer = answer_line(
            decode_request(b'{"id": ' + identity + b', "type": "health"}'), 1, None
        )
    except Refused as error:
        answer = problem_line(error)
    assert b'"bad_request"' in answer or identity in answer


@given(line=st.binary(max_size=80).filter(lambda line: line.strip()))
def test_any_bytes_are_a_request_or_refused(line: bytes) -> None:
    try:
        decode_request(line)
    except Refused as error:
        said = problem_line(error)
    else:
        return
    assert json.loads(said)["ok"] is False
