"""The suggestions of the GitHub action, written to a server that answers as GitHub does."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remora.ids import escape_path
from remora.runs.report.check_document import CheckDocument, CheckedChange, CheckTotals
from remora.runs.report.problems import Problem
from remora.runs.report.report_model import Edit, FileChange
from remora.workspaces.apply.line_diff import diff_hunks, split_lines
from remora.workspaces.copy.changes import diff
from tests.ci.github_server import GitHub, github_server
from tests.cli.conftest import git

SCRIPT = Path(__file__).parents[2] / "action/suggestions.py"
LINES = b"".join(b"x%d = %d\n" % (number, number) for number in range(1, 41))


@dataclass
class Pull:
    """Pull request 7: a repository whose head differs from its base, and what a check would do."""

    root: Path
    github: GitHub
    changes: list[CheckedChange] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    project: str = "."
    pushed: str = ""

    def commit(self, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(content)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "--allow-empty", "-m", "work")

    def open(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
        """Open the pull request, with the diff that git makes of it."""
        git(self.root, "init", "-q")
        self.commit(before)
        self.commit(after)
        self.github.head = git(self.root, "rev-parse", "HEAD").strip()
        self.github.files = [self._file(path) for path in sorted({**before, **after})]

    def _file(self, path: str) -> dict[str, Any]:
        whole = git(self.root, "diff", "--no-color", "HEAD~1", "HEAD", "--", path)
        blob = git(self.root, "rev-parse", f"HEAD:{path}").strip()
        return {"filename": path, "sha": blob, "patch": whole[whole.find("@@") :]}

    def fix(
        self, path: str, after: bytes, *groups: int, shown: str = "", secret: bool = False
    ) -> None:
        """Let the check change a file of its project. Its edits are in these groups, or in one each."""
        before = (self.root / self.project / path).read_bytes()
        hunks = diff_hunks(split_lines(before), split_lines(after))
        edits = tuple(
            Edit(hunk.start + 1, hunk.end + 1, b"".join(hunk.lines).decode()) for hunk in hunks
        )
        file = FileChange(
            path=escape_path(path),
            kind="modified",
            diff=shown or diff(path, before, after),
            lines=0,
            last_column=0,
            edits=None if secret else edits,
            groups=groups or (*range(len(edits)),),
        )
        change = CheckedChange(operation="lint", path=escape_path(path), name="", files=(file,))
        self.changes.append(change)

    def proposes(self, head: bytes, fixed: bytes, *groups: int) -> None:
        """Open the pull request with this `a.py`, and let the check make it `fixed`."""
        self.open({"a.py": LINES}, {"a.py": head})
        self.fix("a.py", fixed, *groups)

    def suggest(
        self, token: str = "of-actions", *, url: str = "", number: int | None = 7
    ) -> subprocess.CompletedProcess[str]:
        """Run the step."""
        folder = self.root.parent
        totals = CheckTotals(problems=1, fixable=1, nodes=1, jobs=1, unreadable=())
        document = CheckDocument(
            root=str(self.root / self.project),
            model=None,
            problems=tuple(self.problems),
            changes=tuple(self.changes),
            taken_out=(),
            failures=(),
            totals=totals,
        )
        (folder / "remora.json").write_bytes(msgspec.json.encode(document))
        pull = {"number": number, "head": {"sha": self.pushed or self.github.head}}
        event = {} if number is None else {"pull_request": pull}
        (folder / "event.json").write_text(json.dumps(event))
        return subprocess.run(
            [sys.executable, "-I", SCRIPT],
            cwd=self.root,
            env={
                "PATH": os.environ["PATH"],
                "GITHUB_API_URL": url or self.github.url,
                "GITHUB_REPOSITORY": "ana/shop",
                "GITHUB_EVENT_PATH": str(folder / "event.json"),
                "GITHUB_OUTPUT": str(folder / "output"),
                "GITHUB_STEP_SUMMARY": str(folder / "summary"),
                "ACTION_TOKEN": token,
                "ACTION_REPORTS": str(folder),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def suggested(self) -> list[dict[str, Any]]:
        return self.github.review_comments

    @property
    def places(self) -> list[tuple[str, int, int]]:
        return [(c["path"], c.get("start_line", c["line"]), c["line"]) for c in self.suggested]

    def clicked(self, path: str) -> bytes:
        """Return the file after all its suggestions were applied. Line ends stay as in the file."""
        content = (self.root / path).read_bytes()
        end = b"\r\n" if b"\r\n" in content else b"\n"
        lines = content.split(end)
        comments = [comment for comment in self.suggested if comment["path"] == path]
        for comment in sorted(comments, key=lambda comment: comment["line"], reverse=True):
            start = comment.get("start_line", comment["line"])
            lines[start - 1 : comment["line"]] = block(comment["body"])
        return end.join(lines)


def block(body: str) -> list[bytes]:
    """Return the lines of the suggestion in a comment. The fence ends it as in Markdown."""
    lines = body.split("\n")
    at, fence = next(
        (at, match[1])
        for at, line in enumerate(lines)
        if (match := re.fullmatch(r"(`{3,})suggestion", line))
    )
    closing = re.compile(rf" {{0,3}}`{{{len(fence)},}}\s*")
    end = next(at for at in range(at + 1, len(lines)) if closing.fullmatch(lines[at]))
    return [line.encode() for line in lines[at + 1 : end]]


@pytest.fixture
def pull(tmp_path: Path) -> Iterator[Pull]:
    (tmp_path / "work").mkdir()
    with github_server() as github:
        yield Pull(tmp_path / "work", github)


def test_a_replaced_line_is_one_comment_of_one_review(pull: Pull) -> None:
    fixed = LINES.replace(b"x20 = 20", b"x20 = None is 1")
    pull.proposes(LINES.replace(b"x20 = 20", b"x20 = None == 1"), fixed)
    pull.problems.append(
        Problem(
            path="a.py",
            line=20,
            end_line=20,
            operation="lint",
            code="E711",
            name="",
            message="use `is`, @ana",
            fixable=True,
        )
    )
    done = pull.suggest()
    assert done.returncode == 0, done.stderr
    (review,) = pull.github.reviews
    assert review["event"] == "COMMENT"
    assert review["body"] == "Remora suggests a verified fix at 1 place of this pull request."
    (comment,) = pull.suggested
    assert comment["line"] == 20
    assert "start_line" not in comment
    assert "\nRemora lint: `E711` `` use `is`, @ana ``\n" in comment["body"]
    assert pull.clicked("a.py") == fixed
    text = (pull.root.parent / "output").read_text()
    assert text == f"text={review['body']}\n"
    assert review["body"] in (pull.root.parent / "summary").read_text()


FENCED = b'def f():\n    """Doc.\n\n```\n````suggestion\n```\n    """\n'
CRLF = LINES.replace(b"\n", b"\r\n")
FIXES = {
    "several lines": (LINES.replace(b"x20 = 20\nx21 = 21\n", b"x20 = (\n    20\n)\n"), LINES),
    "the only line": (b"import os\n", b""),
    "line ends": (CRLF.replace(b"20\r", b"0\r"), CRLF.replace(b"x21 = 21\r\n", b"")),
    "no newline at the end": (LINES + b"y = None == 2", LINES + b"y = None is 2"),
    "backticks": (
        FENCED,
        FENCED.replace(b"```\n````suggestion\n", b"```python\n````suggestion\n```\n"),
    ),
}


@pytest.mark.parametrize("kind", FIXES)
def test_a_click_makes_the_file_what_the_check_would_make_it(pull: Pull, kind: str) -> None:
    head, fixed = FIXES[kind]
    pull.open({"a.py": CRLF if kind == "line ends" else LINES}, {"a.py": head})
    pull.fix("a.py", fixed)
    assert pull.suggest().returncode == 0
    assert "\r" not in pull.suggested[0]["body"]
    assert pull.clicked("a.py") == fixed


@pytest.mark.parametrize(
    ("fixed", "place"),
    [
        (LINES.replace(b"x20 = 20\n", b""), (19, 20)),
        (LINES.replace(b"x20 = 20\n", b"x20 = 20\n\nnew = 1\n"), (20, 20)),
        (LINES.replace(b"x17 = 17\n", b""), (17, 18)),
        (LINES.replace(b"x17 = 17\n", b"new = 1\nx17 = 17\n"), (17, 17)),
    ],
    ids=["deletion", "insertion", "first shown line", "before it"],
)
def test_what_only_adds_or_deletes_lines_also_has_a_line_beside_them(
    pull: Pull, fixed: bytes, place: tuple[int, int]
) -> None:
    pull.open({"a.py": LINES.replace(b"x20", b"y20")}, {"a.py": LINES})
    pull.fix("a.py", fixed)
    assert pull.suggest().returncode == 0
    assert pull.places == [("a.py", *place)]
    assert pull.clicked("a.py") == fixed


def test_lines_that_the_diff_does_not_show_have_no_suggestion(pull: Pull) -> None:
    head = LINES.replace(b"x20 = 20", b"y20 = 20").replace(b"x27 = 27", b"y27 = 27")
    pull.open({"a.py": LINES}, {"a.py": head})
    fixed = head.replace(b"x1 = 1\n", b"x1 = 2\n")
    # lines 23 and 24 are in two hunks that touch
    pull.fix("a.py", fixed.replace(b"x23 = 23\nx24 = 24\n", b"x23 = 24\n"))
    assert git(pull.root, "diff", "HEAD~1").count("\n@@") == 1, "git joins hunks that touch"
    whole = pull.github.files[0]["patch"].split("\n")
    parts = [["@@ -17,7 +17,7 @@", *whole[1:9]], ["@@ -24,7 +24,7 @@", *whole[9:]]]
    pull.github.files[0]["patch"] = "\n".join(line for part in parts for line in part)
    assert pull.suggest().stdout.startswith("no suggestions: ")
    assert pull.github.reviews == []


@pytest.mark.parametrize("groups", [(1, 2), (1, 1)], ids=["apart", "together"])
def test_edits_that_need_each_other_are_suggested_together_or_not_at_all(
    pull: Pull, groups: tuple[int, ...]
) -> None:
    head = LINES.replace(b"x1 = 1\n", b"from typing import List\n")
    pull.proposes(head, LINES.replace(b"x40 = 40", b"x40 = 41"), *groups)
    assert pull.suggest().returncode == 0
    assert len(pull.suggested) == (1 if groups == (1, 2) else 0)


def test_a_suggestion_says_what_it_needs(pull: Pull) -> None:
    head = LINES.replace(b"x1 = 1\n", b"y = 1\n").replace(b"x40 = 40", b"y = 2")
    pull.proposes(head, LINES, 1, 1)
    assert pull.suggest().returncode == 0
    texts = [comment["body"].rpartition("\n")[2] for comment in pull.suggested]
    assert texts == ["This needs 1 other suggestion of the same change: add all to one batch."] * 2
    assert pull.clicked("a.py") == LINES


def test_names_may_have_spaces_and_other_letters(pull: Pull) -> None:
    paths = ["odd name.py", "größe 100%.py"]
    for path in paths:
        pull.changes.clear()
        pull.root = pull.root.parent / f"of {path}"
        pull.root.mkdir()
        pull.open({path: LINES}, {path: LINES.replace(b"x20 = 20", b"x20 = 0")})
        pull.fix(path, LINES)
        assert pull.suggest().returncode == 0
        assert pull.clicked(path) == LINES


def test_a_project_may_be_a_folder_of_the_repository(pull: Pull) -> None:
    path = "services/the api/a.py"
    pull.open({path: LINES, "a.py": b"\n"}, {path: LINES.replace(b"x20 = 20", b"x20 = 0")})
    pull.project = "services/the api"
    pull.fix("a.py", LINES)
    assert pull.suggest().returncode == 0
    assert pull.clicked(path) == LINES


CHANGED = LINES.replace(b"x20 = 20", b"x20 = 0")


def test_the_first_change_of_a_line_is_suggested_until_the_line_changes(pull: Pull) -> None:
    pull.proposes(CHANGED, LINES)
    pull.fix("a.py", LINES.replace(b"x20 = 20", b"x20 = 21"))
    assert pull.suggest("of-ana").returncode == 0
    assert pull.clicked("a.py") == LINES
    first = pull.suggest()
    assert first.returncode == 0
    assert len(pull.github.reviews) == 2, "a person who quotes a suggestion does not stop it"
    assert pull.suggest().stdout == first.stdout
    assert len(pull.github.reviews) == len(pull.suggested) == 2
    pull.suggested[1]["line"] = None  # as GitHub does
    assert pull.suggest().returncode == 0
    assert len(pull.github.reviews) == 3


def test_at_most_twenty_suggestions_stand(pull: Pull) -> None:
    odd = re.compile(rb"^(x\d*[13579]) = .*", re.MULTILINE)
    long = b"".join(b"x%d = %d\n" % (number, number) for number in range(1, 52))
    head = odd.sub(rb"\1 = 0", long)
    pull.open({"a.py": b""}, {"a.py": head})
    pull.fix("a.py", long)
    wanted = "a verified fix at 20 places of this pull request; 6 more would exceed the limit of 20"
    for _ in range(2):
        assert wanted in pull.suggest().stdout
        assert len(pull.suggested) == 20
    pull.suggested[0]["line"] = None
    pull.suggest()
    assert len(pull.suggested) == 21, "one of them is not at a line any more"


def test_a_line_beside_a_secret_is_not_repeated(pull: Pull) -> None:
    pull.open({"a.py": LINES.replace(b"x20", b"y20")}, {"a.py": LINES})
    shown = diff("a.py", LINES, LINES.replace(b"x20 = 20\n", b"")).replace("x19 = 19", "[redacted]")
    pull.fix("a.py", LINES.replace(b"x20 = 20\n", b""), shown=shown)
    assert pull.suggest().returncode == 0
    assert "x19" not in pull.suggested[0]["body"]
    assert pull.clicked("a.py") == LINES.replace(b"x20 = 20\n", b"")


def test_a_file_without_a_patch_a_secret_or_another_base_has_no_suggestion(pull: Pull) -> None:
    pull.proposes(CHANGED, LINES)
    patch = pull.github.files[0].pop("patch")
    assert pull.suggest().stdout.startswith("no suggestions: "), "the file is too long for one"
    pull.github.files[0]["patch"] = patch
    # a workflow checks the merge with the base out, whose lines are not those of the head
    pull.commit({"a.py": b"z = 1\n" + CHANGED})
    pull.changes.clear()
    pull.fix("a.py", b"z = 1\n" + LINES)
    assert pull.suggest().returncode == 0
    assert pull.github.reviews == []
    pull.commit({"a.py": CHANGED})
    pull.changes.clear()
    pull.github.requests.clear()
    pull.fix("a.py", LINES, secret=True)
    assert pull.suggest().returncode == 0
    assert pull.github.requests == []


def test_what_only_changes_line_ends_has_no_suggestion(pull: Pull) -> None:
    pull.proposes(b"x = 1\r\ny = 2", b"x = 1\ny = 2\n")
    assert pull.suggest().returncode == 0
    assert pull.github.reviews == []


def test_what_github_refuses_does_not_fail_the_job(pull: Pull) -> None:
    pull.proposes(CHANGED, LINES)
    done = pull.suggest("read-only")
    assert done.returncode == 0
    assert done.stdout == (
        "::warning::no suggestions: the token may not write it; grant `pull-requests: write` "
        "(pull requests from forks never may): Resource not accessible by integration\n"
    )
    assert not (pull.root.parent / "output").exists(), "the comment would count them"
    pull.pushed = "0" * 40
    done = pull.suggest()
    assert done.returncode == 0
    assert done.stdout.startswith("::warning::no suggestions: GitHub answered 422 Unprocessable")
    assert done.stdout.endswith("Commit is not part of the diff\n")
    assert pull.suggest(number=8).stdout == (
        "::warning::no suggestions: GitHub answered 404 Not Found\n"
    )
    pull.pushed = ""
    assert pull.suggest().returncode == 0
    assert len(pull.github.reviews) == 1, "the same is suggested where nothing is in the way"
