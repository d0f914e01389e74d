"""The review on the page: verdicts by hunk and undo change the real files, forms are checked."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from threading import Event
from typing import Any

import pytest
from starlette.testclient import TestClient

import remora as library
from remora.memory.events import Review, payload
from remora.threads import Cancelled, raise_if_cancelled
from remora.trace.read.reader import read_events
from remora.web import review_page
from remora.web.verdict_queue import Outcome, VerdictQueue
from tests.cli.conftest import Remora, new_repository, user_without_weights, write
from tests.web.recorded import client_of

BEFORE = '''"""Reads settings."""
import os
import sys
\f

def read(path):
    """Return the settings in a file."""
    return sys.argv or open(path).read()


x = f'plain'




y = [a, b, c, d, e, f, g, h]
'''
SETTINGS = '[tool.ruff.lint]\nselect = ["F"]\n'


@pytest.fixture
def user(tmp_path: Path) -> Remora:
    return user_without_weights(tmp_path / "home")


@pytest.fixture
def project(tmp_path: Path, user: Remora) -> Path:
    """A project with one pending change set of two hunks."""
    root = write(tmp_path / "project", {"settings.py": BEFORE, "pyproject.toml": SETTINGS})
    return lint(root, user)


def lint(root: Path, user: Remora) -> Path:
    """Record a run on a project, whose change sets are pending afterwards. Return its folder."""
    new_repository(root)
    done = user("analyze", "-o", "lint", "--model", "none", "--quiet", cwd=root)
    assert done.code == 0, done.err
    return root


@pytest.fixture
def two(tmp_path: Path, user: Remora) -> Path:
    """A project with a pending change set in each of two files: the second is loaded later."""
    files = {f"{name}.py": f'"""{name}."""\nimport os\n' for name in "ab"}
    return lint(write(tmp_path / "two", {**files, "pyproject.toml": SETTINGS}), user)


@pytest.fixture
def pages(project: Path, user: Remora) -> Iterator[TestClient]:
    with client_of(project, user.home) as client:
        yield client


def address_of(project: Path) -> str:
    (run,) = project.glob(".agentfs/runs/*.jsonl")
    return f"/runs/{run.stem}/review"


def form_of(pages: TestClient, project: Path) -> dict[str, str]:
    """Return the hidden fields of the page's form."""
    text = pages.get(address_of(project)).text
    return dict(re.findall(r'name="(token|agent|hunks)" value="([^"]*)"', text))


def send(pages: TestClient, project: Path, verb: str, **more: Any) -> str:
    """Send a verdict on the only change set with the page's form. Return the message about it."""
    fields = form_of(pages, project)
    answer = pages.post(address_of(project), data={**fields, "verb": verb, **more})
    assert answer.status_code == 200, answer.text
    found = re.search(r'role="status">(.*?)</p>', answer.text, re.DOTALL)
    assert found is not None, answer.text
    return found[1]


def verdicts(project: Path) -> list[Review]:
    (run,) = project.glob(".agentfs/runs/*.jsonl")
    return [each for each in map(payload, read_events(run)) if isinstance(each, Review)]


def test_chosen_hunks_are_written_and_taken_back(
    pages: TestClient, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, fields = address_of(project), form_of(pages, project)
    assert pages.get(address).text.count('name="hunk"') == 2
    turns = pages.get(f"/agents/{fields['agent']}").text
    first, *_ = turns.partition("The packet did not say 2 more diagnostics")[2].split("</details>")
    assert "line 16: Undefined name `h`" in first
    assert turns.count('<pre class="diff') == turns.count('href="#change"') == 1
    with monkeypatch.context() as soon:
        soon.setattr("remora.web.verdict_queue._ANSWER_S", 0)  # while the gates run
        part = {**fields, "verb": "accept", "hunk": "2"}
        judged = pages.post(address, data=part).text
    (live,) = re.findall(r'data-live="([^"]+)"', judged)
    assert "event: end" in pages.get(live).text
    message = "1 change accepted: settings.py; 1 of 2 hunks; 1 left out"
    page = pages.get(address).text
    assert f'role="status">{message}</p>' in page
    assert '</span> 1 of 2 hunks; 1 left out <span class="dim">on this page</span></td>' in page
    assert "<div>accepted: 1 of 2 hunks</div>" in pages.get(address.removesuffix("/review")).text
    text = (project / "settings.py").read_text()
    assert "import os" in text
    assert "f'plain'" not in text
    assert send(pages, project, "undo") == "1 change pending again: settings.py"
    assert (project / "settings.py").read_text() == BEFORE
    found = [(each.verdict, each.left) for each in verdicts(project)]
    assert found == [("accepted", (1,)), ("accepted", ()), ("reopened", ())]
    assert {each.surface for each in verdicts(project)} == {"web"}


def test_lines_around_a_hunk_are_those_of_the_start(pages: TestClient, project: Path) -> None:
    (project / "settings.py").unlink()
    where = f"{address_of(project)}/lines?path=settings.py&agent={form_of(pages, project)['agent']}"
    shown = {"hunk=2&old=4&new=3&count=3": (4, 6, -1), "hunk=2&old=6&new=5&count=9": (6, 10, -1)}
    shown["hunk=11&old=1&new=1&count=9"] = (3, 9, 0)  # up to the hunks around it
    for query, (first, last, moved) in shown.items():
        lines = pages.get(f"{where}&{query}").text
        assert re.findall(r'data-old="(\d+)" data-new="(\d+)"', lines) == [
            (str(old), str(old + moved)) for old in range(first, last + 1)
        ]
        assert re.search(r'data-old="6" [^>]*> <b>def</b> read', lines)
    for none in (f"{where}&old=99", f"{where}x&old=1", where.replace("settings.py", "/etc/passwd")):
        assert pages.get(none).text == ""


@pytest.mark.slow
def test_the_whole_change_set_is_accepted_or_rejected(pages: TestClient, project: Path) -> None:
    assert send(pages, project, "reject", reason="not now").startswith("1 change rejected")
    send(pages, project, "undo")
    assert send(pages, project, "accept", hunk=["1", "2"]).startswith("1 change accepted")
    assert "import os" not in (project / "settings.py").read_text()
    assert [each.feedback for each in verdicts(project)] == ["not now", None, None]


def test_a_reverted_change_set_can_be_taken_back(
    pages: TestClient, project: Path, user: Remora
) -> None:
    send(pages, project, "accept", hunk=["1", "2"])
    assert user("revert", "last", cwd=project).code == 0
    assert '<span class="reverted">reverted</span>' in pages.get(address_of(project)).text
    assert send(pages, project, "undo") == "1 change pending again: settings.py"


@pytest.mark.slow
def test_only_forms_of_this_page_decide(pages: TestClient, project: Path) -> None:
    address = address_of(project)
    for token in ("", "0" * 64, "ä"):
        refused = pages.post(address, data={"token": token, "verb": "accept", "hunks": "0"})
        assert refused.status_code == 403
    assert pages.get(f"{address}?verb=accept").status_code == 200
    assert pages.post(address, content=b"x" * 9_000_000).status_code == 413
    assert "is not a verdict" in html.unescape(send(pages, project, "nothing"))
    assert "no button was pressed" in send(pages, project, "")
    assert send(pages, project, "accept").startswith("Nothing was decided")  # no hunk
    for field in ({"hunks": "x"}, {"hunks": "²"}, {"hunk": "9" * 5000}):
        assert "is not a number" in send(pages, project, "accept", **field)
    for place in ("nothing", "a" * 300_000, "&message=forged"):
        form = {**form_of(pages, project), "verb": "accept", "next": place}
        where = pages.post(address, data=form, follow_redirects=False).headers["location"]
        assert where.startswith(f"{address}#")
    assert verdicts(project) == []


def agents_in(text: str) -> list[str]:
    return re.findall(r'<article class="change-set" id="([^"]+)"', text)


@pytest.mark.slow
def test_the_page_goes_on_with_the_next_change_set(two: Path, user: Remora) -> None:
    with client_of(two, user.home) as pages:
        text = pages.get(address_of(two)).text
        first, second = agents_in(text)
        token = re.findall(r'name="token" value="([^"]*)"', text)[0]
        given = {"token": token, "hunks": "1", "verb": "accept"}
        done = pages.post(address_of(two), data={**given, "agent": first, "hunk": "2", "next": "x"})
        assert done.url.fragment == first, "nothing was decided"
        mine, _, other = done.text.partition(f'id="{second}"')
        part = f"{address_of(two)}?only={second}"
        assert part in html.unescape(other)
        other = pages.get(part).text
        assert '<p class="problem" role="status">Nothing was decided' in mine.partition(first)[2]
        assert ('value="1" checked' in mine, 'value="1" checked' in other) == (False, True)
        assert 'class="message"' not in done.text
        (following,) = re.findall(rf'name="next" value="({second})"', text)
        data = {**given, "agent": first, "hunk": "1", "next": following}
        assert pages.post(address_of(two), data=data).url.fragment == second


def test_verdicts_are_carried_out_in_turn_and_the_last_one_is_listed_first(
    two: Path, user: Remora, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, decide = Event(), review_page._decide
    monkeypatch.setattr("remora.web.verdict_queue._ANSWER_S", 0)
    monkeypatch.setattr(review_page, "_decide", lambda *given: go.wait(10) and decide(*given))
    with client_of(two, user.home) as pages:
        address = address_of(two)
        first, second = agents_in(pages.get(address).text)
        for agent in (second, first):
            data = {**form_of(pages, two), "verb": "accept", "agent": agent, "hunks": "1"}
            pages.post(address, data={**data, "hunk": "1"})
        text = pages.get(address).text
        assert text.count("being judged") == 2
        assert "Accept these" not in text
        assert re.search(r"checks judge [ab]\.py, then 1 more choice", text)
        go.set()
        shown = text
        while live := re.search(r'data-live="([^"]+)"', text):
            assert "event: end" in pages.get(live[1]).text
            text = pages.get(address).text
            shown += text
        for name in ("a.py", "b.py"):
            assert shown.count(f'role="status">1 change accepted: {name}</p>') == 1
        text = pages.get(address).text
        assert "1 change accepted" not in text
        assert re.findall(r'aria-label="Undo accepted ([^"]+)"', text) == [first, second]


def test_verdicts_that_have_not_written_are_given_up_when_the_server_ends() -> None:
    queue, begun = VerdictQueue(), Event()

    def judge(_announce: object) -> Outcome:
        begun.set()
        while True:  # as a subprocess is waited for
            raise_if_cancelled()

    running, waiting = queue.add("run", ["a"], judge), queue.add("run", ["b"], judge)
    assert begun.wait(10)
    queue.close()
    assert isinstance(running.result.exception(10), Cancelled)
    assert waiting.result.cancelled()


def test_only_the_change_sets_that_the_form_names_are_accepted_together(
    two: Path, user: Remora, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client_of(two, user.home) as pages:
        address = address_of(two)
        text = pages.get(address).text
        assert "Accept all 2 changes" in text
        agents = agents_in(text)
        monkeypatch.setattr("remora.web.review_page._MOST", 1)
        text = pages.get(address).text
        assert "Accept all 2 changes" in text
        assert agents_in(text) == agents[:1]
        assert "1 change accepted" in send(pages, two, "accept", hunks="", agent=agents[:1])
        assert "import os" not in (two / "a.py").read_text()
        assert "import os" in (two / "b.py").read_text()
        assert "1 change accepted" in send(pages, two, "accept", hunks="", agent=agents[1:])
        text = pages.get(address).text
        assert text.count('<a href="/agents/') == 2
        assert "on this page</span>" in text
        assert "2 changes pending again" in send(pages, two, "undo", agent=agents)


def test_a_run_of_another_installation_is_listed_and_not_reviewed(
    project: Path, tmp_path: Path
) -> None:
    with client_of(project, tmp_path / "other") as stranger:
        answer = stranger.get(address_of(project))
        assert answer.status_code == 400
        assert "--trust-run" in answer.text
        (run,) = project.glob(".agentfs/runs/*.jsonl")
        copy(run, run.with_name("99991231-000000-000000.jsonl"))  # a newer one
        assert "2 changes of 2 runs wait for your decision." in stranger.get("/").text
        listed = stranger.get("/?start=1").text
        assert "1 change of 1 run waits for your decision in the 1 run of this page." in listed


@pytest.mark.slow
def test_changes_that_no_gate_judged_need_an_answer(
    project: Path, user: Remora, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in user.environment.items():
        monkeypatch.setenv(name, value)

    def pending() -> list[int]:
        return [run["pending"] for run in user("runs", "--json", cwd=project).document["runs"]]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as before_gates:
        before_gates.setattr("remora.usecases.analyze.session.judge_run", interrupt)
        run = library.analyze(root=project, operations=["lint"]).run_id
    assert pending() == [1, 1], "what gates judged is not withdrawn for it"
    why = f"the run was interrupted; `remora analyze --resume {run}` runs them"
    told = f"the project's own tests did not run: {why}"
    for words in (("show", run), ("report", run)):
        assert told in " ".join(user(*words, cwd=project).out.replace("\\", "").split())
    with client_of(project, user.home) as pages:
        (first,) = set(
            re.findall(r'class="button" href="/runs/([^"/]+)/review', pages.get("/").text)
        )
        assert first != run
        said = re.sub("`(.*)`", r"<code>\1</code>", told[1:])
        assert said in html.unescape(pages.get(f"/runs/{run}").text)
        text = html.unescape(pages.get(f"/runs/{run}/review").text)
        assert said in text
        form = dict(re.findall(r'name="(token|agent|hunks|ask)" value="([^"]*)"', text))
        data = {**form, "verb": "accept", "hunk": ["1", "2"]}
        text = html.unescape(pages.post(f"/runs/{run}/review", data=data).text)
        assert "not written: settings.py: no test ran with it" in text
        assert (
            "no test ran with it (the run was interrupted;"
            in user("accept", run, "--all", cwd=project).out
        )
        text = pages.post(f"/runs/{run}/review", data={**data, "untested": "on"}).text
        assert "1 change accepted" in text
        pages.post(f"/runs/{run}/review", data={**data, "verb": "undo"})
        assert user("analyze", "--resume", run, cwd=project).code == 0
        text = pages.get(f"/runs/{first}").text + user("show", first, cwd=project).out
    assert pending() == [0, 1]
    for name in (run, f'<a href="/runs/{run}">{run}</a>'):
        assert f"withdrawn: proposed again by run {name}" in text
