"""Only the folder of an operation and the list of built-in operations know an operation by name."""

import ast
import re
from pathlib import Path

import remora
from remora.bootstrap.operations import BUILT_IN

_SOURCE = Path(remora.__file__).parent
_OTHER_MEANINGS = {
    "memory/node_facts.py": "the docstring of a node",
    "cli/app/command_list.py": "a name that is mistaken for a command",
    "code/pytest_model/caller_search.py": "the role of a function for pytest",
    "code/pytest_model/pytest_file.py": "the role of a function for pytest, and a folder",
    "code/pytest_model/pytest_project.py": "how the names of tests begin",
    "code/pytest_model/pytest_settings.py": "how the names of tests begin",
    "code/callgraph/rules/call_rules.py": "how the names of tests begin",
    "code/pytest_model/test_functions.py": "how the names of tests begin",
    "judges/calls/case.py": "where a call was found",
    "judges/calls/own_cases.py": "where a call was found",
    "judges/calls/project_examples.py": "where a call was found",
    "judges/calls/trials.py": "where a call was found",
    "judges/gates/values_plugin.py": "how the names of tests begin",
    "judges/tests/judged_tests.py": "a number of tests",
    "judges/tests/untested_lines.py": "a number of tests",
    "tools/host/text_files.py": "the docstring of a node",
    "tools/host/ruff/rule_choice.py": "a table of ruff's settings",
    "tools/host/style_config.py": "a table of ruff's settings",
}
"""What the same words mean in modules that are not about operations, by the ends of their paths."""


def test_no_other_module_names_an_operation() -> None:
    names = {operation.name for operation in BUILT_IN.all}
    quoted = re.compile(rf"""["']({"|".join(names)})["']""")  # parsing all modules takes a second
    own = tuple(operation.folder for operation in BUILT_IN.all)
    found = [
        path
        for path in _SOURCE.rglob("*.py")
        if not any(path.is_relative_to(folder) for folder in own)
        and quoted.search(path.read_text("utf-8"))
        and any(
            isinstance(node, ast.Constant) and node.value in names
            for node in ast.walk(ast.parse(path.read_bytes()))
        )
    ]
    assert [path for path in found if not str(path).endswith(tuple(_OTHER_MEANINGS))] == []
