"""Of several summaries that pass the checks, the embedded model finds the right one."""

from pathlib import Path

import pytest

from remora.operations.docstring.hidden_descriptions import documented_parts
from tests.cli.conftest import Remora, git, write
from tests.undecided_server import undecided_server

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
    sources = {name for arm in (first, likeliest) for name in arm["by_source"]}
    assert sources == {"model"}, "a text is a model's even if its score was too close"
