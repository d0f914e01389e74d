"""With the answers of people, `eval restore` gets back nearly all that it hides."""

from dataclasses import replace
from pathlib import Path

import pytest

from remora.operations.docstring.hidden_descriptions import documented_parts
from tests.cli.conftest import Remora, git, tree, write
from tests.oracle_server import oracle_server, undecided_server

LEAST = 0.95
FUNCTIONS = {
    "area": ("Compute how much space a rectangle covers.", "The covered space."),
    "blend": ("Mix two colours in equal shares.", "The mixture."),
    "clamp": ("Keep a number between two bounds.", "The nearest number inside."),
    "divide": ("Split a sum among several people.", "What each person gets."),
    "encode": ("Turn text into bytes for the network.", "The bytes to send."),
    "flatten": ("Remove one level of nesting from a list.", "A list without nesting."),
    "group": ("Collect equal neighbours into lists.", "The lists in their old order."),
    "hide": ("Cover every digit with an asterisk.", "The covered text."),
    "indent": ("Move all lines to the right.", "The moved lines."),
    "join": ("Connect words with commas and a final conjunction.", "A phrase."),
    "kill": ("End a child process and everything it started.", "The number of processes."),
    "limit": ("Take as many rows as fit on a page.", "The rows of the page."),
}
PARAMETERS = {
    "start": "What the caller begins with.",
    "step": "What is added to it.",
    "times": "How often that happens.",
}
"""Suffixes of the parameters: a name that many lists leave out would not be missed."""


def google(name: str, summary: str, outcome: str) -> str:
    entries = "".join(f"        {name}_{key}: {text}\n" for key, text in PARAMETERS.items())
    return function(
        name, f"{summary}\n\n    Args:\n{entries}\n    Returns:\n        {outcome}\n    "
    )


def numpy(name: str, summary: str, outcome: str) -> str:
    entries = "".join(
        f"    {name}_{key} : int\n        {text}\n" for key, text in PARAMETERS.items()
    )
    head = f"{summary}\n\n    Parameters\n    ----------\n{entries}"
    return function(name, f"{head}\n    Returns\n    -------\n    int\n        {outcome}\n    ")


def sphinx(name: str, summary: str, outcome: str) -> str:
    entries = "".join(f"    :param {name}_{key}: {text}\n" for key, text in PARAMETERS.items())
    return function(name, f"{summary}\n\n{entries}    :returns: {outcome}\n    ")


def function(name: str, docstring: str) -> str:
    typed = ", ".join(f"{name}_{each}: int" for each in PARAMETERS)
    code = f"    return {name}_start + {name}_step * {name}_times\n"
    return f'def {name}({typed}) -> int:\n    """{docstring}"""\n{code}'


@pytest.mark.slow
@pytest.mark.parametrize("renderer", ["lines", "json"])
def test_what_people_wrote_comes_back(poor: Remora, tmp_path: Path, renderer: str) -> None:
    files = {
        f"{style.__name__}_style/{part}.py": "\n\n".join(
            style(name, *texts) for name, texts in list(FUNCTIONS.items())[part::2]
        )
        for style in (google, numpy, sphinx)
        for part in (0, 1)
    }
    root = write(tmp_path / "documented", files)
    git(root, "init", "-q")
    before = tree(root)
    with oracle_server(documented_parts(files)) as server:
        arm = f"{server.address},renderer={renderer}"
        words = ("eval", "restore", "-o", "docstring", "--arm", arm, "--arm", "rules", "--json")
        done = poor(*words, cwd=root)
        used = {"REMORA_MODEL__BASE_URL": server.address, "REMORA_MODEL__RENDERER": renderer}
        status = replace(poor, environ={**poor.environ, **used})("model", "status", cwd=root)
    assert done.code == 0, done.err
    (operation,) = done.document["operations"]
    found = operation["arms"][0]
    assert (operation["slots"], found["error"]) == (36, None)
    assert set(operation["hidden"]) == {"summary", "parameters"}
    assert (found["exact"] + found["equivalent"]) / found["slots"] >= LEAST, operation["examples"]
    assert "+100 % against rules (+100 to +100): its choices count" in status.out
    assert tree(root) == before


SUMMARIES = {
    "first_line": ("text", 'text.partition("\\n")[0]', "Return the first line of a text."),
    "is_weekend": ("day", "day.weekday() >= 5", "Return True for Saturdays and Sundays."),
    "mean": ("values", "sum(values) / len(values)", "Compute the average of some values."),
    "read_json": ("path", "json.loads(path.read_text())", "Load a document from a JSON file."),
    "slugify": ("title", 're.sub(r"\\W+", "-", title).lower()', "Make a title fit for an address."),
    "sorted_by_age": ("people", "sorted(people, key=age_of)", "List people, the youngest first."),
    "to_celsius": ("degrees", "(degrees - 32) / 1.8", "Convert a temperature from Fahrenheit."),
    "unlink_all": ("paths", "[path.unlink() for path in paths]", "Delete the given files."),
}


@pytest.mark.slow
def test_of_several_summaries_the_likeliest_is_right_more_often_than_the_first(
    remora: Remora, tmp_path: Path
) -> None:
    files = {
        f"src/{name}.py": f'def {name}({argument}):\n    """{text}"""\n    return {code}\n'
        for name, (argument, code, text) in SUMMARIES.items()
    }
    root = write(tmp_path / "documented", {**files, "remora.yaml": "model: {samples: 4}\n"})
    git(root, "init", "-q")
    slots = documented_parts(files)
    with undecided_server(slots, [slot.text for slot in slots], number=4) as server:
        arms = [f"--arm={server.address},decoding={each}" for each in ("tool_call", "auto")]
        done = remora("eval", "restore", "-o", "docstring", *arms, "--json", cwd=root)
    assert done.code == 0, done.err
    first, likeliest = done.document["operations"][0]["arms"]
    assert likeliest["exact"] >= first["exact"] + 2, done.document["operations"][0]["examples"]
