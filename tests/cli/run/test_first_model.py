"""The first run with a model: what a user without one is told, and what a run with one says."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.models.embedded.known_models import DEFAULT, KNOWN_MODELS, RECOMMENDED
from tests.cli.conftest import Done, Remora, check_records, tree, write
from tests.openai_server import Handler, answer, openai_server, send_json

DOCSTRING = ("analyze", "-o", "docstring")
SMALL = KNOWN_MODELS["Qwen2.5-Coder-0.5B-Instruct"]


@pytest.fixture
def plain(poor: Remora) -> Remora:
    """A user whose settings do not let a model decide."""
    return replace(poor, environ={"REMORA_RUNNER__DECISIONS": "rules"})


def writes(handler: Handler, _request: dict[str, Any], number: int) -> None:
    """Write one docstring, and submit it."""
    text = {"summary": "Keep what a visitor picked."}
    call: tuple[str, dict[str, Any]] = ("write_docstring", text) if number % 2 else ("leave", {})
    send_json(handler, answer(call))


def test_without_a_model_a_run_ends_with_how_to_get_one(plain: Remora, cart: Path) -> None:
    done = plain(*DOCSTRING, cwd=cart)
    needs = "1 docstring needs a person or a model: cart.py:Cart.add (-v lists them)\n"
    assert (done.code, needs in done.out) == (0, True)
    best = RECOMMENDED
    pull = f"to let a model try: run `remora model pull {best.name}` ({best.cost}), or use a server"
    assert pull in " ".join(done.out.split())
    write(cart, {"line.py": "l = 1\n"})
    lint = plain("analyze", "line.py", "-o", "lint", "--select", "E741", cwd=cart).out
    assert "1 finding has no fix" in lint
    assert pull in " ".join(lint.split())


@pytest.mark.parametrize(
    ("option", "value", "command"),
    [
        ("--decisions", "model", f"`remora model pull {RECOMMENDED.name}`"),
        ("--model", SMALL.name, f"`remora model pull {SMALL.name}` ({SMALL.cost})"),
    ],
)
def test_a_model_that_is_asked_for_must_be_there(
    plain: Remora, cart: Path, option: str, value: str, command: str
) -> None:
    done = plain(*DOCSTRING, "cart.py", option, value, "--json", cwd=cart)
    assert (done.code, done.error["code"]) == (3, "model_error")
    assert command in done.error["hint"]
    assert not list((cart / ".agentfs").glob("runs/*"))


@pytest.mark.slow
def test_an_installed_model_decides_where_it_is_asked_for(remora: Remora, cart: Path) -> None:
    named = ("analyze", "cart.py", "-o", "docstring", "--decisions", "model")
    line = f"to let a model try: `remora {' '.join(named)}`"
    assert line in remora(*DOCSTRING, cwd=cart).out
    (cart / "docs").mkdir()
    below = remora(*DOCSTRING, cwd=cart / "docs").out
    assert line.replace("cart.py", "../cart.py") in below
    done = remora(*DOCSTRING, "--decisions", "model", cwd=cart)
    assert "1 function without a docstring, which a small model writes if you name" in done.out
    assert line in done.out
    done = remora(*named, cwd=cart)
    assert f", model {DEFAULT.name}\n" in done.err
    assert "by the embedded model" in done.out
    check_records(remora, cart)


def test_a_model_that_is_given_decides_and_a_run_says_what_it_takes(
    plain: Remora, cart: Path
) -> None:
    with openai_server(writes) as server:
        model = ("--model", server.address)
        done = plain(*DOCSTRING, *model, cwd=cart)
        assert "1 of 1 docstring written" in done.out
        assert "duration depends on the model" in done.err
        assert "Ctrl-C stops it, and `remora analyze --resume last` continues it" in done.err
        by_rules = plain(*DOCSTRING, *model, "--decisions", "rules", cwd=cart)
        assert "1 docstring needs a person or a model" in by_rules.out


def test_models_are_listed_with_what_is_known_of_them(remora: Remora, tmp_path: Path) -> None:
    listed = remora("model", "list", "--json", cwd=tmp_path).document["models"]
    assert [(each["name"], each["installed"]) for each in listed] == [
        (name, name == DEFAULT.name) for name in KNOWN_MODELS
    ]
    shown = remora("model", "list", cwd=tmp_path).out
    assert re.search(rf"^{SMALL.name} +{SMALL.cost} +Apache-2.0 +no", shown, re.MULTILINE)
    assert remora("model", "pull", "--quiet", cwd=tmp_path) == Done(0, "", "")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_smallest_qwen_writes_a_docstring(plain: Remora, cart: Path, models: Path) -> None:
    if not (models / SMALL.file).exists():
        pytest.skip("`make weights-small` fetches the weights")
    pulled = plain("model", "pull", SMALL.name, "--from", models / SMALL.file, cwd=cart)
    assert pulled.code == 0, pulled.err
    before = tree(cart)
    done = plain.afresh(
        "analyze",
        "cart.py",
        "-o",
        "docstring",
        "--decisions",
        "model",
        "--json",
        cwd=cart,
        limit_s=500,
    )
    (job,) = done.document["jobs"]
    assert (job["status"], job["decided_by"]["model"]) == ("verified", 1), done.err
    assert tree(cart) == before
    check_records(plain, cart)
