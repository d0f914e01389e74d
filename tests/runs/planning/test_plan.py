"""Planning: cheap, deterministic, and it touches nothing."""

import dataclasses
import os
from pathlib import Path

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.code.syntax.nodes import Module, Node
from remora.errors import ConfigError, NotFound, UsageError
from remora.ids import escape_path
from remora.judges.tests import tested_names
from remora.operations.docstring.docstring_need import lacks_docstring
from remora.rmtree import remove_tree
from remora.runs.execution.run import RunRequest
from remora.runs.planning.plan import MAX_JOBS, Plan, without_operations
from remora.tools.file_tree import FileTree
from remora.usecases.analyze.prepare_run import prepare, too_many
from remora.usecases.review.verdicts import accept
from tests.runs.conftest import CLEAN, RULES, UNUSED, Desk

OWN = """
name: own
operation: own
goal: Look at {node_name}
needs: NEEDS
tools: [{name: act, script: act.pym}]
"""
NO_FIX = "def f(l):\n    l = l + 1\n    return l\n"

NEEDS_NONE = (
    "def _private():\n    return 1\n",
    "class _A:\n    def f(self): return 1\n",
    'class A:\n    """A."""\n\n    def __init__(self, a): self.a = a\n',
    'def f():\n    """Do."""\n    def inner(): return 1\n    return inner\n',
    'class A:\n    """A."""\n    @property\n    def x(self):\n        """X."""\n'
    "    @x.setter\n    def x(self, to): self.y = to\n",
    'class B:\n    """B."""\n    def f(self):\n        """Do."""\n\n\n'
    'class A(B):\n    """A."""\n    def f(self): return 1\n',
)


def nodes(plan: Plan) -> list[str]:
    return [job.node_id.removeprefix("node:") for job in plan.jobs]


@pytest.fixture
def shop(desk: Desk) -> Desk:
    desk.write({"a.py": UNUSED, "pkg/b.py": UNUSED, "pkg/c.py": CLEAN, "ruff.toml": RULES})
    return desk


def own_agent(desk: Desk, needs: str, **scripts: str) -> None:
    desk.write({".remora/agents/own/agent.yaml": OWN.replace("NEEDS", needs)})
    for name, text in {"act": "1", **scripts}.items():
        desk.write({f".remora/agents/own/{name}.pym": text})


class TestNeeds:
    def test_only_nodes_with_findings_become_lint_jobs_each_once(self, shop: Desk) -> None:
        plan = shop.plan()
        assert nodes(plan) == [
            "a.py:__module__", "a.py:load", "pkg/b.py:__module__", "pkg/b.py:load",
        ]  # fmt: skip
        assert (plan.nodes, plan.skipped, plan.findings) == (6, 2, 4)
        assert plan.operations == ("lint",)
        again = shop.plan(RunRequest(operations=("lint", "lint")))
        assert nodes(again) == nodes(plan)
        assert {job.agent_id for job in again.jobs}.isdisjoint(job.agent_id for job in plan.jobs)

    def test_a_docstring_that_is_missing(self, shop: Desk) -> None:
        own_agent(shop, "docstring")
        request = RunRequest(operations=("own",))
        plan = shop.plan(request)
        assert nodes(plan) == []
        assert plan.left == {"own": {"needs a person or a model": 1}}
        with_writer = shop.plan(request, **{"model.base_url": "http://127.0.0.1:9/v1"})
        assert nodes(with_writer) == ["pkg/c.py:fine"]
        shop.write({"a.py": 'def _f(to):\n    """Do.\n\n    :param to_file: Gone.\n    """\n'})
        assert "a.py:_f" in nodes(shop.plan(request)), "an outdated one"

    def test_nodes_and_tests_that_need_no_docstring(self, desk: Desk) -> None:
        own_agent(desk, "docstring")
        for number, source in enumerate(NEEDS_NONE):
            desk.write({f"a{number}.py": f'"""A."""\n{source}'})
        desk.write({"tests/helpers.py": CLEAN, "test_a.py": CLEAN, "conftest.py": CLEAN})
        assert nodes(desk.plan(RunRequest(operations=("own",)))) == []

    def test_without_an_operation_they_are_lint_and_docstring(self, shop: Desk) -> None:
        prepared = prepare(shop.caller(), RunRequest())
        prepared.close()
        assert prepared.plan.operations == ("lint", "docstring")

    @pytest.mark.parametrize(("provider", "planned"), [("none", []), ("auto", ["a.py:__module__"])])
    def test_findings_without_a_fix_need_a_model_that_writes(
        self, desk: Desk, provider: str, planned: list[str]
    ) -> None:
        desk.write({"a.py": NO_FIX, "ruff.toml": 'lint.select = ["E741"]\n'})
        flags = {"model.base_url": "http://127.0.0.1:1/v1", "model.provider": provider}
        caller = dataclasses.replace(desk.caller(**flags), operations=BUILT_IN)
        prepared = prepare(caller, RunRequest(operations=("lint",)))
        prepared.close()
        assert nodes(prepared.plan) == planned

    def test_nodes_without_any_job_are_counted_once(self, shop: Desk) -> None:
        own_agent(shop, "always")
        assert len(shop.plan(RunRequest(operations=("own",))).jobs) == 6
        own_agent(shop, "always\nunit: file")
        assert shop.plan(RunRequest(operations=("lint",))).skipped_nodes == 2
        plan = shop.plan(RunRequest(operations=("lint", "own")))
        assert len(plan.jobs) == 4 + 3, "the file's job covers both of its nodes"
        assert plan.skipped_nodes == 0
        assert without_operations(plan, ("own",), "why").skipped_nodes == 2

    def test_a_users_own_rule_decides_or_says_why_it_fails(self, shop: Desk) -> None:
        rule = 'from remora.pym import Input\nnode: dict = Input("node")\n'
        own_agent(shop, "rule.pym", rule=rule + 'node["qualname"] == "load" and not node["skip"]')
        assert nodes(shop.plan(RunRequest(operations=("own",)))) == ["a.py:load", "pkg/b.py:load"]
        own_agent(shop, "rule.pym", rule="1 / 0")
        with pytest.raises(Exception, match=r"rule\.pym.*ZeroDivisionError") as caught:
            shop.plan(RunRequest(operations=("own",)))
        assert caught.value.__class__.__module__ == "remora.errors"

    def test_two_operations_on_one_node_and_an_unknown_one(self, shop: Desk) -> None:
        own_agent(shop, "always")
        plan = shop.plan(RunRequest(operations=("own", "lint"), node="a.py:load"))
        assert [job.operation for job in plan.jobs] == ["own", "lint"]
        with pytest.raises((UsageError, NotFound), match="no agent 'lin'") as caught:
            shop.plan(RunRequest(operations=("lin",)))
        assert "lint" in caught.value.hint


class TestSelection:
    def test_a_path_that_is_missing_or_outside(self, shop: Desk) -> None:
        with pytest.raises(UsageError, match=r"nope\.py does not exist"):
            shop.plan(RunRequest(paths=(Path("nope.py"),)))
        with pytest.raises(UsageError, match="is outside the project"):
            shop.plan(RunRequest(paths=(shop.folder,)))
        # also through a link
        (shop.folder / "else.py").write_text(UNUSED)
        (shop.root / "link.py").symlink_to(shop.folder / "else.py")
        with pytest.raises(UsageError, match="is outside the project"):
            shop.plan(RunRequest(paths=(Path("link.py"),)))
        assert all("link" not in node for node in nodes(shop.plan()))

    @pytest.mark.slow
    def test_a_glob_keys_a_bound_a_folder_or_a_file(self, shop: Desk) -> None:
        for glob, found in (
            ("load", ["a.py:load", "pkg/b.py:load"]),
            ("pkg/*", ["pkg/b.py:__module__", "pkg/b.py:load"]),
            ("a.py:*", ["a.py:__module__", "a.py:load"]),
            ("node:a.py:load", ["a.py:load"]),
            ("fine", []),
        ):
            assert nodes(shop.plan(RunRequest(node=glob))) == found
        keys = frozenset({"node:pkg/b.py:load", "node:missing.py:f"})
        assert nodes(shop.plan(RunRequest(keys=keys))) == ["pkg/b.py:load"]
        for count, jobs in ((3, 3), (99, 4)):
            plan = shop.plan(RunRequest(max_nodes=count))
            assert (len(plan.jobs), plan.skipped) == (jobs, 6 - jobs)
        shop.write({"pkg2/d.py": UNUSED})  # it only begins alike
        assert nodes(shop.plan(RunRequest(paths=(Path("pkg"),)))) == [
            "pkg/b.py:__module__", "pkg/b.py:load",
        ]  # fmt: skip
        assert nodes(shop.plan(RunRequest(paths=(Path("a.py"), Path("pkg/c.py"))))) == [
            "a.py:__module__", "a.py:load",
        ]  # fmt: skip

    def test_exclude_and_a_comment_that_keeps_a_node_alone(self, shop: Desk) -> None:
        shop.write({"remora.yaml": "exclude: [pkg/]\n"})
        assert nodes(shop.plan()) == ["a.py:__module__", "a.py:load"]
        prepared = shop.prepare()
        assert prepared.base is not None
        assert "pkg/b.py" in prepared.base.files, "tools may read what agents leave alone"
        prepared.close()
        shop.write({"a.py": UNUSED.replace("def load():", "def load():  # remora: skip")})
        assert "a.py:load" not in nodes(shop.plan())


class TestChanged:
    def test_against_a_branch(self, shop: Desk) -> None:
        shop.commit()
        shop.write({"pkg/b.py": UNUSED.replace("return 1", "return 3")})
        shop.commit()
        assert nodes(shop.plan(RunRequest(changed="HEAD"))) == []
        assert nodes(shop.plan(RunRequest(changed="HEAD~1"))) == ["pkg/b.py:load"]

    def test_a_project_below_the_repositorys_root(self, shop: Desk) -> None:
        shop.commit()
        shop.write({"pkg/remora.yaml": "", "pkg/b.py": UNUSED.replace("return 1", "return 2")})
        shop.root = shop.root / "pkg"
        assert nodes(shop.plan(RunRequest(changed=""))) == ["b.py:load"]

    def test_nodes_that_differ_from_a_known_commit(self, shop: Desk) -> None:
        with pytest.raises(UsageError, match=r"without git: .* not a git repository"):
            shop.plan(RunRequest(changed=""))
        shop.commit()
        for revision in ("nope", "--help", "HEAD~99", "\udcff"):
            with pytest.raises(UsageError, match="unknown git revision"):
                shop.plan(RunRequest(changed=revision))
        shop.commit()
        assert nodes(shop.plan(RunRequest(changed=""))) == []
        shop.write({"a.py": UNUSED.replace("return 1", "return 2"), "new.py": UNUSED})
        assert nodes(shop.plan(RunRequest(changed=""))) == [
            "a.py:load",  # a change within a function is not the module's
            "new.py:__module__",
            "new.py:load",
        ]


class TestGuard:
    def test_many_jobs_want_a_word(self, desk: Desk) -> None:
        body = "\n\n".join(f"def f{n}():\n    import os" for n in range(MAX_JOBS + 1))
        desk.write({"many.py": body + "\n", "ruff.toml": RULES})
        plan = desk.plan()
        assert len(plan.jobs) == MAX_JOBS + 1
        assert too_many(plan, RunRequest())
        assert not too_many(plan, RunRequest(yes=True))
        assert not too_many(plan, RunRequest(max_nodes=500))


class TestUnreadable:
    def test_what_does_not_parse_is_reported_and_left_out(self, shop: Desk) -> None:
        lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
        shop.write({"lfs.py": lfs})
        assert shop.plan().unreadable[0]["detail"].startswith("a pointer of Git LFS")
        (shop.root / "lfs.py").unlink()
        shop.write({"bad.py": "def f(:\n", "bytes.py": b"x = '\xff'\n", "nul.py": b"\0"})
        plan = shop.plan()
        assert len(plan.jobs) == 4
        told = {one["path"]: one["detail"] for one in plan.unreadable}
        assert set(told) == {"bad.py", "bytes.py", "nul.py"}
        assert told["bad.py"].startswith("line 1: ")

    def test_what_no_tool_could_work_on_is_reported_and_left_out(self, shop: Desk) -> None:
        latin = b"# coding: latin-1\nimport os\nx = '\xe9'\n"
        ascii_too = b"# coding: ascii\nimport os\n"
        shop.write({"big.py": "x = 1\n" * 200_000, "latin.py": latin, "ascii.py": ascii_too})
        plan = shop.plan()
        told = {one["path"]: one["detail"] for one in plan.unreadable}
        assert told == {
            "big.py": "1.1 MiB, larger than 1 MiB",
            "latin.py": "its encoding is iso-8859-1, not UTF-8",
        }
        assert "ascii.py:__module__" in nodes(plan)

    def test_a_name_that_is_not_utf_8(self, shop: Desk) -> None:
        try:
            (shop.root / "odd\udcff.py").write_text(UNUSED)
        except OSError:
            pytest.skip("the file system takes no such name")
        (one,) = shop.plan().unreadable
        assert one == {"path": "odd\\udcff.py", "detail": "its name is not UTF-8"}

    @pytest.mark.slow
    def test_odd_names_are_fine(self, desk: Desk) -> None:
        names = ["--fix/-y.py", "-x.py", "[x].py", "a%b.py", "ünïcode, with space.py"]
        desk.write({**dict.fromkeys(names, "import os\n"), "ruff.toml": RULES})
        run_id = desk.analyze()
        jobs = desk.view(run_id).jobs
        assert {job.status for job in jobs} == {"verified"}
        changed = {change.path for job in jobs for change in job.proposal.changes}
        assert changed == set(map(escape_path, names))
        assert accept(run_id, root=desk.project, every=True).conflicts == []
        assert not [name for name in names if b"import" in desk.tree()[name]]
        assert desk.problems() == []

    def test_an_odd_file_that_makes_us_fail_is_reported_and_left_out(
        self, shop: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(module: Module, node: Node) -> bool:
            if module.path == "a.py":
                raise RecursionError("too deep")
            return lacks_docstring(module, node)

        need = "remora.operations.docstring.docstring_need.lacks_docstring"
        monkeypatch.setattr(need, fails)
        shop.write({"a.py": "def f(): pass\n"})
        plan = shop.plan(RunRequest(operations=("docstring",)))
        assert plan.left == {"docstring": {"needs a person or a model": 1}}
        (told,) = plan.unreadable
        assert told["path"] == "a.py"
        assert "a fault in Remora: RecursionError: too deep (test_plan.py:" in told["detail"]

    @pytest.mark.slow
    def test_folders_may_lie_in_folders_however_deep(self, tmp_path: Path) -> None:
        """Whoever plans tests looks at every file of the project."""
        (tmp_path / "a.py").write_text("def f(): pass\ndef g(): pass\n")
        place = os.open(tmp_path, os.O_DIRECTORY)
        for _ in range(1100):
            os.mkdir("d", dir_fd=place)
            above, place = place, os.open("d", os.O_DIRECTORY, dir_fd=place)
            os.close(above)
        file = os.open("test_a.py", os.O_WRONLY | os.O_CREAT, dir_fd=place)
        os.write(file, b"from a import f\n\ndef test_it(): f()\n")
        os.close(file)
        os.close(place)
        try:
            known = tested_names.NodesWithTests(FileTree(tmp_path))
            assert [known.holds(f"node:a.py:{name}") for name in "fg"] == [True, False]
        finally:
            remove_tree(tmp_path / "d")  # pytest could not

    def test_a_broken_configuration_of_the_linter_is_reported(self, shop: Desk) -> None:
        shop.write({"ruff.toml": "lint.select = 7\n"})
        with pytest.raises(Exception, match="ruff") as caught:
            shop.plan()
        assert caught.value.__class__.__module__ == "remora.errors"

    def test_a_broken_agent_of_the_user_is_reported(self, shop: Desk) -> None:
        own_agent(shop, "sometimes")
        with pytest.raises(ConfigError, match=r"agent\.yaml:5:8: needs"):
            shop.plan(RunRequest(operations=("own",)))
        assert nodes(shop.plan(RunRequest(operations=("lint",)))), "it is in nobody else's way"


class TestBase:
    def test_planning_leaves_nothing_behind_nor_does_a_plan_that_fails(self, shop: Desk) -> None:
        before = shop.tree()
        prepared = shop.prepare()
        assert prepared.base is not None
        assert prepared.base.folder.is_dir()
        prepared.close()
        assert not prepared.base.folder.exists()
        assert shop.tree() == before
        assert not (shop.root / ".agentfs").exists()
        with pytest.raises(UsageError, match="no node matches 'nope'") as caught:
            shop.plan(RunRequest(node="nope"))
        assert caught.value.exit_code == 2
        assert list((shop.project.cache / "bases").iterdir()) == []


class TestNeedsTest:
    """Public functions that no test calls, whatever lies between them."""

    CODE = (
        "import functools\n\n\ndef lone(year: int):\n    '''\n    >>> lone(1)\n    2\n    '''\n    return year + 1\n\n\ndef unknown(a):\n    return a.b + 1\n\n\ndef _private():\n    return 1\n\n\ndef main():\n"
        "    return 1\n\n\ndef called():\n    return inner()\n\n\ndef inner():\n    def nested():\n        return 1\n\n"
        "    return nested()\n\n\nclass A:\n    def method(self, year: int):\n        '''\n        >>> A().method(1)\n        2\n        '''\n        return year + 1\n\n    @property\n"
        "    def size(self):\n        return 1\n\n    @functools.cached_property\n    def far(self):\n"
        "        return 1\n\n    async def later(self):\n        return 1\n"
    )

    def test_which_do(self, desk: Desk) -> None:
        own_agent(desk, "test")
        tests = "from a import called\n\n\ndef test_called():\n    assert called() == 1\n"
        desk.write({"a.py": self.CODE, "tests/test_a.py": tests, "docs/conf.py": CLEAN})
        plan = desk.plan(RunRequest(operations=("own",)))
        assert nodes(plan) == ["a.py:lone", "a.py:A.method"]
        assert plan.left == {
            "own": {"without an example and its result, which need a person or a model": 1}
        }
