"""Shape of the source: size, first line and what an `__init__.py` may hold."""

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from remora.bootstrap.operations import BUILT_IN

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "remora"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
MAX_LINES = 400
MAX_MODULES = 25
READS_ENVIRONMENT = (
    "cli/",
    "bootstrap/",
    "usecases/",
    "worker/",
    "facilities.py",  # a variable for tests turns off what no invocation may change
    "config/user_folders.py",  # for the Hub's client, which is used as a library
    "files/git.py",  # tells git where the user's configuration is, as HOME does
    "judges/gates/values_plugin.py",  # runs alone, in the project's interpreter
)


def size_fault(text: str) -> str | None:
    lines = len(text.splitlines())
    return f"{lines} lines: let a concept out" if lines > MAX_LINES else None


def first_line_fault(text: str) -> str | None:
    docstring = ast.get_docstring(ast.parse(text), clean=True)
    if docstring is None or not text.startswith(('"""', 'r"""')):
        return "the first line is not a docstring"
    sentence = docstring.split("\n\n")[0].rstrip()
    return None if sentence.endswith((".", "?")) else "the docstring does not begin with a sentence"


def init_faults(text: str) -> list[str]:
    """Lines of an `__init__.py` that are more than docstring, imports and lazy re-exports."""
    return [
        f"line {node.lineno}: {type(node).__name__}"
        for node in ast.parse(text).body
        if not _is_reexport(node)
    ]


def reads_environment(text: str) -> bool:
    # parsing all modules takes a second
    if re.search(r"\b(environ|getenv)\b", text) is None:
        return False
    nodes = list(ast.walk(ast.parse(text)))
    written = {
        node.value
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("os", "environ"), ("os", "getenv")}
        for node in nodes
        if node not in written
    )


def _is_reexport(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=[]):
            return all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in node.body)
        case ast.If(
            test=ast.UnaryOp(op=ast.Not(), operand=ast.Name(id="TYPE_CHECKING")), orelse=[]
        ):  # hidden from a type checker, which would take any name for one of the module's
            return all(isinstance(inner, ast.FunctionDef) for inner in node.body) and all(
                map(_is_reexport, node.body)
            )
        case ast.Assign(targets=[ast.Name(id=name)]):
            # the second: where a lazy `__getattr__` finds each name
            return name == "__all__" or (name.isupper() and _is_literal(node.value))
        case ast.FunctionDef(name="__getattr__" | "__dir__"):
            return True
    return False


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def test_modules_are_small_and_their_first_line_says_what_they_are() -> None:
    texts = {module: (SOURCE / module).read_text(encoding="utf-8") for module in MODULES}
    faults = {module: size_fault(text) or first_line_fault(text) for module, text in texts.items()}
    assert {module: fault for module, fault in faults.items() if fault} == {}


def test_an_init_holds_a_docstring_and_reexports() -> None:
    inits = [SOURCE / module for module in MODULES if module.endswith("__init__.py")]
    faults = {path: init_faults(path.read_text(encoding="utf-8")) for path in inits}
    assert {path: found for path, found in faults.items() if found} == {}


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {(SOURCE / module).parent for module in MODULES}
    assert [f for f in sorted(folders) if not (f / "__init__.py").exists()] == []


def test_no_folder_or_module_has_a_name_that_says_nothing() -> None:
    empty_words = {"utils", "util", "helpers", "helper", "common", "core", "manager", "misc"}
    names = {part.removesuffix(".py") for module in MODULES for part in module.split("/")}
    assert names & empty_words == set()


def crowded_folders(modules: Iterable[str]) -> dict[str, int]:
    """Folders with more modules than a reader can hold."""
    counts = Counter(m.rpartition("/")[0] for m in modules if not m.endswith("__init__.py"))
    return {folder: n for folder, n in counts.items() if n > MAX_MODULES}


def stem(name: str) -> str:
    """The name without its English inflection: plan, plans, planned and planning are one."""
    found = re.sub(r"(ings?|ed|er|s|e)$", "", name)
    return found[:-1] if len(found) > 3 and found[-1] == found[-2] else found


def same_stem(modules: Iterable[str]) -> list[list[str]]:
    siblings: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for module in modules:
        folder, _, name = module.removesuffix(".py").rpartition("/")
        siblings[folder, stem(name)].append(name)
    return [names for names in siblings.values() if len(names) > 1]


# the lookbehind leaves out code that a test is written with
EMPTY_TARGET = re.compile(
    r"(?<!list\(each\) )\bfor (?:\w+, )?\(?(?:each|every|found|its?|one)(?:, [\w, ]+)?\)? in "
)


def test_a_loop_says_what_its_things_are() -> None:
    """A loop over trials has a variable `trial`, not `each` or `one`."""
    scripts = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.pym")]
    texts = {m: (SOURCE / m).read_text(encoding="utf-8") for m in (*MODULES, *scripts)}
    faults = {module: EMPTY_TARGET.findall(text) for module, text in texts.items()}
    assert {module: found for module, found in faults.items() if found} == {}


def test_no_siblings_differ_only_in_an_inflection() -> None:
    assert same_stem(MODULES) == []


def test_no_folder_holds_more_than_25_modules() -> None:
    assert crowded_folders(MODULES) == {}


def test_no_folder_has_a_name_that_git_ruff_and_the_wheel_ignore() -> None:
    ignored = {"build", "dist", "venv", "site-packages", "node_modules", "buck-out"}
    folders = {part for module in MODULES for part in module.split("/")[:-1]}
    assert folders & ignored == set()


def test_the_environment_is_read_where_everything_is_put_together() -> None:
    reading = [m for m in MODULES if reads_environment((SOURCE / m).read_text(encoding="utf-8"))]
    assert [module for module in reading if not module.startswith(READS_ENVIRONMENT)] == []


def test_fewer_than_60_modules_share_their_file_name() -> None:
    names = Counter(m.rpartition("/")[2] for m in MODULES if not m.endswith("__init__.py"))
    assert sum(count for count in names.values() if count > 1) < 60


def test_each_operation_is_protected_and_registered() -> None:
    folders = {path.parent.name for path in SOURCE.glob("operations/*/operation.py")}
    contracts = {
        each["id"]: each
        for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
            "contracts"
        ]
    }
    paths = {f"remora.operations.{folder}" for folder in folders}
    assert set(contracts["operations"]["modules"]) == paths
    assert set(contracts["operations-base"]["protected_modules"]) == paths
    assert {operation.name for operation in BUILT_IN.all} == folders


def test_the_checks_see_planted_faults() -> None:
    assert crowded_folders([f"cli/m{n}.py" for n in range(25)]) == {}
    assert all(
        map(EMPTY_TARGET.search, ("for one in x", "for path, found in x", "for each, n in x"))
    )
    assert EMPTY_TARGET.search("one for path in x") is None
    assert crowded_folders([f"cli/m{n}.py" for n in range(26)]) == {"cli": 26}
    assert same_stem(["runs/plan.py", "runs/planning.py"]) == [["plan", "planning"]]
    assert same_stem(["runs/ask.py", "runs/asked.py", "cli/asks.py"]) == [["ask", "asked"]]
    assert size_fault("x = 1\n" * 400) is None
    assert size_fault("x = 1\n" * 401) is not None
    assert first_line_fault('"""Records of one run."""\n') is None
    assert first_line_fault('"""Records of one run"""\n') is not None
    assert first_line_fault("# comment\n'''Late.'''\n") is not None
    assert first_line_fault("import os\n") is not None
    assert reads_environment("import os\nx = os.environ['A']\n")
    assert not reads_environment("x = caller.environ['A']\n")
    assert not reads_environment("import os\nos.environ['A'] = 'x'\n")
    clean = '"""P."""\nfrom a import b\n__all__ = ["b"]\n_HOMES = {"b": "a"}\n'
    assert init_faults(clean) == []
    assert init_faults(clean + "_CACHE = dict(a=1)\ndef load(): ...\n") == [
        "line 5: Assign",
        "line 6: FunctionDef",
    ]
