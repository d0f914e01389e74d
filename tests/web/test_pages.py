"""Pages and parts: what they show of a recorded run, and what they refuse."""

import gzip
import re
from functools import partial
from hashlib import sha256
from html import unescape
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

import remora.web
from remora.trace.read.turn_positions import last_turn, turn_lines
from remora.web.addresses import Links
from remora.web.html_responses import page_in_two_parts
from remora.web.session import Session
from tests.cli.conftest import new_repository, write
from tests.diagnosis.planted_failures import Planted
from tests.web.recorded import client_of


def test_a_run_lists_its_jobs_with_the_cause_of_failures(
    pages: TestClient, failed: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.web.project_part._model", lambda *_: "small")
    home = pages.get("/").text
    assert f'href="/runs/{failed.run_id}"' in home
    assert "</a> src/price.py" in home
    assert '<li class="failed">1 failed</li>' in home
    state = pages.get("/project").text
    work = pages.get("/project/work").text
    assert "src/price.py" in work
    monkeypatch.setattr("remora.web.project_part.plans_of_some", None)
    assert pages.get("/project/work").text == work
    assert "<dt>Model</dt><dd>small</dd>" in state
    assert "No runs yet" in pages.get("/?start=1").text
    for words, is_shown in (("FAILED price", True), ("failed nothing", False)):
        found = pages.get("/", params={"text": words}).text
        assert (f'href="/runs/{failed.run_id}"' in found) == is_shown
        assert f'value="{words}"' in found
    text = pages.get(f"/runs/{failed.run_id}").text
    assert f'href="/agents/{failed.agent_id}"' in text
    assert "The summary of check at turn 1 lost the error" in text
    assert f"<code>remora retry {failed.run_id} src/price.py:total --model http" in text
    for query in ("", "status=failed", "status=verified", "node=TOTAL", "node=x"):
        text = pages.get(f"/runs/{failed.run_id}?{query}").text
        assert text.count('href="/agents/') == (query not in ("status=verified", "node=x"))


def test_an_agent_that_failed_opens_at_the_turn_of_the_cause(
    pages: TestClient, failed: Planted
) -> None:
    text = pages.get(f"/agents/{failed.agent_id}").text
    assert re.search(r'id="t2" data-turn="2" tabindex="-1" aria-current="true">', text)
    assert '<p class="sentence">The summary of check at turn 1 lost the error' in text
    assert text.count("data-turn=") == 4


def test_what_is_recorded_of_each_turn_is_shown(pages: TestClient, failed: Planted) -> None:
    for turn in range(4):
        part = pages.get(f"/agents/{failed.agent_id}/turns/{turn}").text
        assert '<p class="problem">' not in part
        opened = pages.get(f"/agents/{failed.agent_id}?turn={turn}&record=1").text
        assert part.strip() in opened


def test_the_turn_in_which_the_agent_failed(pages: TestClient, failed: Planted) -> None:
    turn = pages.get(f"/agents/{failed.agent_id}/rows?from=3").text
    assert '<span class="state failed">failed</span>' in turn
    assert '<span class="state success">' not in turn


def test_an_error_is_marked_where_the_packet_lost_it(pages: TestClient, failed: Planted) -> None:
    text = pages.get(f"/agents/{failed.agent_id}").text
    first, second, third = text.split("<article")[2:]
    mark = "<b>The packet did not say this</b> <code>price.py:5: error: name &#39;unused&#39;"
    assert mark in first
    assert mark in second
    assert mark not in third, "no model decided after it"
    change = '<li class="add"><span class="dim">recent action</span><div><ins>check: Checked price.py</ins></div></li>'
    assert change in second.replace("<wbr>", "")


def test_the_prompt_is_shown_with_the_hash_of_its_bytes(pages: TestClient, failed: Planted) -> None:
    text = pages.get(f"/agents/{failed.agent_id}/turns/2").text
    sent = pages.get(f"/agents/{failed.agent_id}/turns/2/prompt")
    assert sha256(sent.content).hexdigest() in text
    assert "at most" in text, "the estimate is an upper bound"
    assert sent.headers["content-disposition"].startswith("attachment")
    assert b"Checked price.py" in sent.content


def test_a_line_is_saved_as_it_was_recorded(pages: TestClient, failed: Planted) -> None:
    stream = failed.root / ".agentfs/traces" / f"{failed.agent_id}.jsonl"
    lines = stream.read_bytes().splitlines(keepends=True)
    saved = pages.get(f"/agents/{failed.agent_id}/turns/0/lines/1")
    assert saved.content == lines[0]


def test_the_badge_is_computed_from_the_bytes(pages: TestClient, failed: Planted) -> None:
    stream = failed.root / ".agentfs/traces" / f"{failed.agent_id}.jsonl"
    head = stream.read_bytes().splitlines()[-1][-66:-2].decode()
    badge = pages.get(f"/streams/{failed.agent_id}/badge").text
    assert "record unchanged" in badge
    assert "against its run" in badge
    assert head in badge


@pytest.mark.parametrize(
    "address",
    ["/runs/nothing", "/agents/nothing", "/agents/nothing/rows", "/nothing", "/agents/../x"],
)
def test_what_does_not_exist_is_a_page_that_says_so(pages: TestClient, address: str) -> None:
    answer = pages.get(address)
    assert answer.status_code == 404
    assert "<h1>" in answer.text


def test_a_turn_that_does_not_exist_is_named(pages: TestClient, failed: Planted) -> None:
    text = pages.get(f"/agents/{failed.agent_id}/turns/99").text
    assert "has no turn 99" in text
    assert "its turns are 0 to 3" in text


def test_every_answer_keeps_to_itself(pages: TestClient, failed: Planted) -> None:
    for address in ("/", f"/agents/{failed.agent_id}", "/nothing", "/static/page.css"):
        headers = pages.get(address).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]


def test_a_browser_without_the_link_sees_nothing(failed: Planted, tmp_path: Path) -> None:
    stranger = client_of(failed.root, tmp_path, is_open=False)
    for address in ("/", f"/agents/{failed.agent_id}", "/live/runs/x"):
        answer = stranger.get(address)
        assert answer.status_code == 403
        assert failed.agent_id not in answer.text
        assert "remora ui" in answer.text


def test_a_used_link_leads_a_browser_that_is_in_to_the_runs(pages: TestClient) -> None:
    answer = pages.get("/start/used", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_link_works_once() -> None:
    session = Session(1)
    link = session.new_link().removeprefix("/start/")
    assert session.use_link(link)
    assert not session.use_link(link)
    assert not session.use_link("")


def test_a_cookie_of_another_server_is_refused(failed: Planted, tmp_path: Path) -> None:
    stranger = client_of(failed.root, tmp_path, is_open=False)
    for value in ("", "x" * 43, '"', "a b"):
        stranger.cookies.set("remora_ui_8787", value)
        assert stranger.get("/").status_code == 403


def test_reading_pages_changes_nothing(pages: TestClient, failed: Planted) -> None:
    before = {path: path.read_bytes() for path in (failed.root / ".agentfs").rglob("*.jsonl")}
    pages.get(f"/agents/{failed.agent_id}")
    assert {path: path.read_bytes() for path in before} == before
    for method in ("post", "put", "delete"):
        assert getattr(pages, method)(f"/agents/{failed.agent_id}").status_code == 405


def test_a_node_has_the_facts_of_the_hub_and_its_jobs(pages: TestClient, failed: Planted) -> None:
    answer = pages.get("/nodes/node:src/price.py:total")
    assert answer.status_code == 200
    assert "def total(order)" in answer.text
    assert "fresh" in answer.text
    assert f'href="/agents/{failed.agent_id}"' in answer.text
    assert pages.get("/nodes/node:src/price.py:nothing").status_code == 404


def test_nodes_are_found_by_the_words_of_their_names(pages: TestClient) -> None:
    assert 'href="/nodes/node%3Asrc/price.py%3Atotal"' in pages.get("/nodes?name=price tot").text
    assert "No function, class or file matches" in pages.get("/nodes?name=qqq").text
    close = pages.get("/nodes?name=totl").text
    assert 'did you mean <a href="?name=src/price.py:total">src/price.py:total</a>?' in close
    assert pages.get("/nodes?name=price.py:total", follow_redirects=False).status_code == 303


def test_scripts_and_styles_are_small() -> None:
    folder = Path(remora.web.__file__).parent / "static"
    files = [*folder.glob("*.js"), *folder.glob("*.css")]
    assert len(files) > 4
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= 30_000


def test_turns_are_found_anywhere_in_a_stream(tmp_path: Path) -> None:
    stream = tmp_path / "agent.jsonl"
    lines = [
        b'{"seq":%d,"turn":%d,"text":"%b"}\n' % (seq, seq // 3, b"x" * (seq * 37 % 900))
        for seq in range(3000)
    ]
    lines[1501] = b"not an event\n"
    stream.write_bytes(b"".join(lines))
    for turn in (0, 1, 499, 500, 501, 998, 999):
        found = [*turn_lines(stream, turn, 2)]
        assert [line.raw + b"\n" for _, line in found] == lines[3 * turn : 3 * turn + 6]
        assert [line.number for _, line in found] == [*range(3 * turn + 1, 3 * turn + 7)][
            : len(found)
        ]
        assert found[0][0] == turn
    assert [*turn_lines(stream, 1000, 1)] == []
    assert len([*turn_lines(stream, 0, turns=None)]) == len(lines)
    assert last_turn(stream) == 999


def test_the_packets_of_a_large_stream_are_read_afterwards(
    pages: TestClient, failed: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = f"/agents/{failed.agent_id}"
    whole = pages.get(f"{agent}/rows").text
    why = pages.get(f"{agent}/turns/2?why=1").text
    monkeypatch.setattr("remora.web.agent_records._LARGE", 100)
    first = pages.get(agent).text
    assert "read all of it to show the packets" in first
    assert f'data-part="{agent}/turns/3?why=1"' in first
    assert "is assigned and never used" in first
    assert ">Packet</b>" not in first
    assert pages.get(f"{agent}/rows?whole=1").text == whole
    assert pages.get(f"{agent}/turns/3?why=1").text == why


@pytest.mark.parametrize("start", ["1", "0", "-1", "many", "1" * 5000])
def test_the_jobs_of_a_run_are_on_pages(
    pages: TestClient, failed: Planted, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    text = pages.get(f"/runs/{failed.run_id}?node=%26total&start={start}").text
    assert text.rstrip().endswith("</html>")
    assert ('<a href="?node=%26total&amp;start=0">earlier</a>' in text) == (start == "1")
    monkeypatch.setattr("remora.web.run_pages._JOBS", 0)
    text = pages.get(f"/runs/{failed.run_id}?node=total").text
    assert '<a href="?node=total&amp;start=0">next 0</a>' in text


@pytest.mark.parametrize("number", ["1" * 5000, "9999999999", "-1", "abc"])
def test_a_number_that_is_none_or_too_long_is_no_error(
    pages: TestClient, failed: Planted, number: str
) -> None:
    agent = f"/agents/{failed.agent_id}"
    for address in (f"{agent}/turns/{number}", f"{agent}/turns/1/lines/{number}"):
        assert pages.get(address).status_code == 404
    assert pages.get(f"{agent}?turn={number}").status_code == 200
    assert pages.get(f"{agent}/rows?from={number}").status_code == 200
    assert pages.get(f"/live{agent}?after={number}").status_code == 200


def test_all_turns_are_reached_from_any_rows(
    pages: TestClient, failed: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.web.agent_page.TURNS", 2)
    agent = f"/agents/{failed.agent_id}"

    def turns(text: str) -> list[str]:
        return re.findall(r'data-turn="(\d)"', text)

    def address(text: str, name: str) -> str:
        links = re.findall(rf'href="([^"]*)"[^>]*>{name} turns', text)
        return unescape(links[0]) if links else ""

    last = pages.get(f"{agent}?turn=3").text
    assert (turns(last), address(last, "later")) == (["2", "3"], "")
    before = pages.get(address(last, "earlier")).text
    assert turns(before) == ["0", "1"]
    assert re.search(r'data-turn="1" [^>]*aria-current', before)
    assert address(before, "earlier") == ""
    assert 'data-turn="2"' in pages.get(address(before, "later")).text

    earlier = pages.get(f"{agent}/rows?before=3").text
    assert (turns(earlier), address(earlier, "later")) == (["1", "2"], "")
    assert turns(pages.get(f"{agent}/rows?before=1").text) == ["0"]
    later = pages.get(f"{agent}/rows?after=0").text
    assert (turns(later), address(later, "earlier")) == (["1", "2"], "")


def test_a_stream_is_verified_on_a_page_of_its_own(pages: TestClient, failed: Planted) -> None:
    for name, folder in ((failed.agent_id, "agents"), (failed.run_id, "runs")):
        assert f'href="/streams/{name}"' in pages.get(f"/{folder}/{name}").text
        text = pages.get(f"/streams/{name}").text
        assert "record unchanged" in text
        assert f'href="/{folder}/{name}"' in text


def test_what_is_left_out_of_lists_is_named(
    pages: TestClient, failed: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.web.node_page._MOST_FOUND", 1)
    assert "and more: add a word" in pages.get("/nodes?name=price").text
    assert "and more" not in pages.get("/nodes?name=price tot").text
    assert pages.get("/nodes?name=total", follow_redirects=False).status_code == 303


def test_the_change_of_the_user_is_judged_and_what_it_concerns_is_shown(tmp_path: Path) -> None:
    source = 'def add(a, b):\n    """Add.\n\n    :param {}: the <i>\n    """\n    return a + b\n'
    files = {"shop.py": source.format("a"), "README.md": "Call `add(1, 2)`.\n"}
    root = new_repository(write(tmp_path / "shop", files))
    write(root, {"shop.py": source.format("first")})
    with client_of(root, tmp_path / "home") as client:
        judged = client.get("/judge").text
        assert "1 remark on 1 changed Python file; tests have not run" in judged
        assert re.search(r"judged at 2[-\d: ]+ UTC in [\d.]+ s by Remora \d", judged)
        assert (
            '<span class="chosen"><span class="number">4</span>     :param first: the &lt;i&gt;'
            in judged
        )
        committed = client.get("/judge?range=HEAD..HEAD").text
        assert "shop: No changed Python file to judge" in committed
        assert re.search(r"It ends with [0-9a-f]+ start \(", committed)
        uncommitted = client.get("/judge?range=HEAD").text
        assert '<input type="hidden" name="range" value="HEAD">' in uncommitted
        assert "file in your change since HEAD; tests have not run" in uncommitted
        assert "unknown git revision" in client.get("/judge?range=--all").text
        assert client.post("/judge", data={"token": "guessed"}).status_code == 403
        for address in ("/judge?file=1", "/impact?name=add&file=1"):
            saved = client.get(address)
            assert saved.headers["content-disposition"].startswith("attachment")
            assert "shop.py" in saved.text
            assert "<style>:root" in saved.text
            served = re.search('href="/|src=|<form|<button|token', saved.text)
            assert served is None, served
        concerned = client.get("/impact?name=add").text
        assert 'shop.py:add</a> <span class="dim">shop.py:1</span>' in concerned
        assert '<th scope="row">README.md:1</th>' in concerned
        assert (
            "No function, class or file matches “nothing”"
            in client.get("/impact?name=nothing").text
        )


def test_a_fault_in_a_part_that_is_sent_later_is_shown_in_its_place() -> None:
    def body(_link: Links) -> str:
        raise KeyError("name")

    show = partial(page_in_two_parts, "impact.html", body, asked="")
    text = TestClient(Starlette(routes=[Route("/", show)])).get("/").text
    assert '<p class="problem"><b>a fault in Remora: KeyError' in text
    assert text.endswith("</html>")


@pytest.mark.slow
def test_a_judgement_says_what_it_does_and_is_kept(tmp_path: Path) -> None:
    root, home = new_repository(write(tmp_path / "shop", {"shop.py": "A = 1\n"})), tmp_path / "home"
    write(root, {"shop.py": "A = 2\n"})
    with client_of(root, home) as client:
        token = re.findall(r'name="token" value="([^"]+)', client.get("/judge").text)[0]
        answer = client.post("/judge", data={"token": token}, follow_redirects=False)
        assert answer.headers["location"] == "/judge"
        state, text = client.get("/project").text, client.get("/judge").text
        if live := re.search(r'data-live="([^"]+)', text):  # else it has ended
            assert re.search(r'<a href="/judge">judging … \d+ s</a>', state)
            events = client.get(live[1]).text
            assert "data: checking the project: pytest" in events
            assert events.rstrip().endswith("event: end\r\ndata:")
            text = client.get("/judge").text
        assert "No remarks on 1 changed Python file of your change since HEAD, " in text
        assert '<li class="good">ruff' in text
        assert "Judge again" in text
        assert '<a href="/judge?last=1">0 remarks</a> of your change' in client.get("/project").text
        (kept,) = home.rglob("answers/judge/*")
        kept.write_bytes(kept.read_bytes()[:-9])
        damaged = client.get("/judge?last=1").text
        assert "tests have not run" in damaged
        assert "is no longer kept" in damaged
        assert "last=1" not in client.get("/project").text
