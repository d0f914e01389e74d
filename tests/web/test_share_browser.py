"""Share files in a real browser, opened from the disk."""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect

from remora.memory.events import GENESIS
from remora.trace.content.line_format import line_hash, line_with_hash
from remora.web.share.share_file import share_run
from tests.browser import opened_page
from tests.diagnosis.planted_failures import Planted
from tests.web.recorded import rewrite, stream_of
from tests.web.shared import change_lines, lines_in, records_of, shared_agent
from tests.web.test_share_file import tell_secret

pytestmark = pytest.mark.slow

TABS = ("Why", "Turn", "Prompt", "Events")
Open = Callable[[str], Page]


@pytest.fixture
def html(failed: Planted, tmp_path: Path) -> str:
    return shared_agent(failed.root, tmp_path, failed.agent_id)


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a file from the disk. The test fails if anything else is requested."""
    with opened_page(browser) as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))

        def show_file(html: str) -> Page:
            file = tmp_path / "share.html"
            file.write_text(html, encoding="utf-8")
            requests.clear()
            page.goto(file.as_uri())
            return page

        yield show_file
        assert requests == [(tmp_path / "share.html").as_uri()]
        assert said == []


def badge(page: Page, name: str) -> Any:
    return page.locator(f'[data-badge="{name}"]')


def test_it_opens_at_the_turn_that_failed_and_proves_its_lines(
    show: Open, html: str, failed: Planted
) -> None:
    page = show(html)
    expect(page.locator("tr[aria-current] th")).to_have_text("2")
    expect(page.locator(".tabs [aria-current]")).to_have_text("Why")
    expect(page.locator(".sentence")).to_be_visible()
    expect(page.locator(".sentence")).to_contain_text("turn 1 lost the error")
    count = lines_in(html, failed.agent_id).count(b"\n")
    expect(badge(page, failed.agent_id)).to_contain_text(f"{count} lines checked in this browser")
    expect(badge(page, failed.agent_id)).to_have_class("badge good")


def test_tabs_keys_rows_and_the_slider_select(show: Open, html: str, failed: Planted) -> None:
    page = show(html)
    seen = {}
    for name in TABS:
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.locator(".tabs [aria-current]")).to_have_text(name)
        expect(page.locator(".turn .tab:visible")).to_have_count(1)
        seen[name] = page.locator(".turn .tab:visible").inner_text()
    assert "Checked price.py" in seen["Turn"]
    assert "SHA-256 of the bytes" in seen["Prompt"]
    assert "tool_result" in seen["Events"]
    page.keyboard.press("j")
    expect(page.locator("tr[aria-current] th")).to_have_text("3")
    expect(page.locator(".tabs .which")).to_have_text("turn 3")
    page.keyboard.press("j")
    expect(page.locator("tr[aria-current] th")).to_have_text("3")
    page.keyboard.press("k")
    expect(page.locator("tr[aria-current] th")).to_have_text("2")
    page.locator("tr[data-turn='1'] .call").click()
    expect(page.locator(".tabs .which")).to_have_text("turn 1")
    page.locator("input[type=range]").fill("0")
    expect(page.locator("tr[aria-current] th")).to_have_text("0")
    page.go_back()
    expect(page.locator(".tabs .which")).to_have_text("turn 2")
    page.goto(page.url.partition("#")[0] + "#%")
    expect(page.locator("tr[aria-current] th")).to_have_text("2")


def test_deleted_lines_are_red(show: Open, html: str) -> None:
    made = html.replace("<footer>", '<pre class="diff"><span class="del">- x</span></pre><footer>')
    line = show(made).locator("span.del")
    color = "(line, name) => getComputedStyle(name ? document.querySelector(name) : line).color"
    assert line.evaluate(color) != line.evaluate(color, "pre")


def test_events_are_the_recorded_lines(show: Open, html: str, failed: Planted) -> None:
    page = show(html)
    lines = lines_in(html, failed.agent_id).decode().splitlines()
    shown = []
    for turn in range(4):
        page.locator(f"tr[data-turn='{turn}'] a").click()
        page.get_by_role("link", name="Events").click()
        shown += page.locator(".tab.events pre").all_text_contents()
    assert [re.sub(r"\s", "", text) for text in shown] == [
        re.sub(r"\s", "", line) for line in lines
    ]


@pytest.mark.parametrize("place", ["early", "late", "hash", "added", "removed", "cut off"])
def test_changed_lines_are_shown_red(place: str, show: Open, html: str, failed: Planted) -> None:
    lines = lines_in(html, failed.agent_id).splitlines(keepends=True)
    count = len(lines)
    line = {"early": 2, "late": count - 1, "cut off": count - 2}.get(place, 5)

    def change(_: bytes) -> bytes:
        at = line - 1
        if place == "added":
            lines.insert(at, lines[at])
        elif place == "removed":
            del lines[at]
        elif place == "cut off":
            del lines[-2:]
        elif place == "hash":
            lines[at] = lines[at][:-4] + (b"0" if lines[at][-4:-3] != b"0" else b"1") + b'"}\n'
        else:
            lines[at] = lines[at].replace(b'"turn":', b'"turn": ', 1)
        return b"".join(lines)

    page = show(change_lines(html, failed.agent_id, change))
    expect(badge(page, failed.agent_id)).to_have_class("badge bad")
    number = line + 1 if place == "added" else line
    expect(badge(page, failed.agent_id)).to_contain_text(f"line {number}:")
    if place == "cut off":
        said = f"the file was written with {count} lines, and has {line} now"
        expect(badge(page, failed.agent_id)).to_contain_text(said)
    else:
        row = page.locator("tr.tampered").first
        expect(row).to_contain_text(f"line {number} is not what was recorded")


def stubs(data: bytes, kept: Collection[int]) -> bytes:
    """Return lines of which all but those with these numbers are replaced as if withheld."""
    return b"".join(
        line if number in kept else b'{"turn":1,"withheld":300,"hash":"%s"}\n' % line[-67:-3]
        for number, line in enumerate(data.splitlines(keepends=True), 1)
    )


def test_lines_with_secrets_are_counted_apart(
    show: Open, failed: Planted, copied: Path, tmp_path: Path
) -> None:
    rewrite(stream_of(copied, failed.agent_id), tell_secret)
    html = shared_agent(copied, tmp_path, failed.agent_id)
    lines = lines_in(html, failed.agent_id).splitlines()
    left_out = [n for n, line in enumerate(lines, 1) if b'"withheld"' in line]
    page = show(re.sub(r' data-problem="[^"]*"', "", html))
    shown = badge(page, failed.agent_id)
    expect(shown).to_have_class("badge part")
    numbers = ", ".join(map(str, left_out))
    expect(shown).to_contain_text(
        f"{len(lines) - len(left_out)} of {len(lines)} lines checked in this browser · left out: "
        f"lines {numbers}; lines before {left_out[-1]} are not bound to the head"
    )
    expect(page.locator(".badge.good")).to_have_count(0)
    colors = "each => [getComputedStyle(each).color, getComputedStyle(each).backgroundColor]"
    unlike = shown.evaluate(colors)
    shown.evaluate("each => { each.className = 'badge good'; }")
    assert all(one != other for one, other in zip(unlike, shown.evaluate(colors), strict=True))


@pytest.mark.parametrize("replaced", ["one", "all but one", "all"])
def test_lines_that_are_marked_as_left_out_later_are_red(
    replaced: str, show: Open, html: str, failed: Planted
) -> None:
    """Also lines before them that were changed with new hashes, which the marks would hide."""
    count = lines_in(html, failed.agent_id).count(b"\n")
    every = {*range(1, count + 1)}
    kept = {"one": every - {4}, "all but one": {count}, "all": set[int]()}[replaced]
    forged = change_lines(html, failed.agent_id, lambda data: stubs(data, kept))
    page = show(forged)
    expect(badge(page, failed.agent_id)).to_have_class("badge bad")
    first = min(every - kept)
    expect(badge(page, failed.agent_id)).to_contain_text(f"line {first}: the line was removed")
    numbers = " ".join(map(str, sorted(every - kept)))
    show(forged.replace(" data-head=", f' data-withheld="{numbers}" data-head='))
    expect(badge(page, failed.agent_id)).to_have_class("badge part")
    expect(badge(page, failed.agent_id)).to_contain_text(f"{len(kept)} of {count} lines checked")
    expect(page.locator(".badge.good")).to_have_count(0)


@pytest.mark.parametrize(
    "more", ['"note":"passed",', '"type":null,', '"seq":3,', '"hash":"{hash}","x":{{}},']
)
def test_a_line_that_is_left_out_has_nothing_else(
    more: str, show: Open, html: str, failed: Planted
) -> None:
    def change(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        text = lines[3][-67:-3].decode()
        added = more.format(hash=text)
        lines[3] = f'{{"turn":1,"withheld":300,{added}"hash":"{text}"}}\n'.encode()
        return b"".join(lines)

    forged = change_lines(html, failed.agent_id, change)
    page = show(forged.replace(" data-head=", ' data-withheld="4" data-head='))
    expect(badge(page, failed.agent_id)).to_have_class("badge bad")
    expect(badge(page, failed.agent_id)).to_contain_text("line 4:")


def test_what_the_file_says_of_its_own_proof_is_replaced(
    show: Open, html: str, failed: Planted
) -> None:
    """The badges and the head are those of the lines that the browser read."""
    head = re.search(r'data-head="([0-9a-f]{64})"', html)
    assert head is not None
    forged = html.replace(f"<code>{head[1]}</code>", f"<code>{'0' * 64}</code>")
    forged = forged.replace("<footer>", '<span class="badge good" id="x">14 lines checked</span>')
    page = show(forged)
    expect(badge(page, failed.agent_id)).to_have_class("badge good")
    expect(page.locator("#x")).to_have_class("badge wait")
    expect(page.locator("#x")).to_have_text("not checked")
    expect(page.locator(".proof dl")).to_contain_text(head[1])
    expect(page.locator(".proof dl")).not_to_contain_text("0" * 64)


def test_a_badge_is_that_of_its_own_view(show: Open, failed: Planted, tmp_path: Path) -> None:
    html = share_run(records_of(failed.root, tmp_path), failed.run_id).html
    forged = change_lines(html, failed.agent_id, lambda data: data.replace(b"check", b"chick"))
    agent, run = f'data-badge="{failed.agent_id}"', f'data-badge="{failed.run_id}"'
    page = show(forged.replace(run, 'data-badge="x"').replace(agent, run))
    expect(page.locator("#run [data-badge]")).to_have_class("badge good")
    expect(page.locator(f"#{failed.agent_id} [data-badge]")).to_have_class("badge bad")


@pytest.fixture
def whole(failed: Planted, tmp_path: Path) -> str:
    """The file of the run."""
    return share_run(records_of(failed.root, tmp_path), failed.run_id).html


def opening(html: str, name: str) -> str:
    """Return the tag before the lines of a stream."""
    found = re.search(rf'<script [^>]*data-stream="{name}"[^>]*>', html)
    assert found is not None
    return found[0]


def forged_chain(data: bytes) -> bytes:
    """Return lines that say something else, with new hashes."""
    previous, lines = GENESIS, []
    for line in data.splitlines():
        body = line[:-TAIL].replace(b'"tool_result"', b'"tool_forged"')
        previous = line_hash(previous, body)
        lines.append(line_with_hash(body, previous))
    return b"".join(lines)


TAIL = len(line_with_hash(b"", GENESIS)) - 1


def with_head(html: str, name: str) -> str:
    """Return a file whose head of a stream is that of its lines."""
    tag = opening(html, name)
    head = lines_in(html, name)[-67:-3].decode()
    return html.replace(tag, re.sub('data-head="[^"]*"', f'data-head="{head}"', tag))


def test_an_agent_does_not_take_the_place_of_its_run(
    show: Open, whole: str, failed: Planted
) -> None:
    """Neither by its name nor by a mark."""
    tampered = change_lines(whole, failed.run_id, lambda data: data.replace(b"job_end", b"job_out"))
    tag = opening(whole, failed.agent_id)
    page = show(tampered.replace(tag, tag.replace(failed.agent_id, "run")))
    expect(page.locator("#run [data-badge]")).to_have_class("badge bad")
    page = show(tampered.replace(tag, tag.replace(">", " data-run>")))
    expect(page.locator("#run [data-badge]")).to_have_class("badge bad")
    expect(page.locator(".badge.good")).to_have_count(0)
    marked = tag.replace(">", " data-run>")
    run = opening(whole, failed.run_id)
    page = show(whole.replace(tag, marked).replace(run, run.replace(" data-run", "")))
    expect(page.locator("#run [data-badge]")).to_have_class("badge bad")
    expect(page.locator(".badge.good")).to_have_count(0)
    page = show(whole.replace(run, run.replace(" data-run", "")))
    expect(page.locator("#run [data-badge]")).to_have_class("badge bad")
    expect(page.locator("#run [data-badge]")).to_contain_text("the stream of the run is missing")


@pytest.mark.parametrize("name", ["{run}", "x", "run"])
def test_a_second_stream_of_the_run_anchors_nothing(
    show: Open, whole: str, failed: Planted, name: str
) -> None:
    forged = with_head(change_lines(whole, failed.agent_id, forged_chain), failed.agent_id)
    lines = lines_in(forged, failed.agent_id)
    head = {"count": lines.count(b"\n"), "hash": lines[-67:-3].decode()}
    data = {"agent_id": failed.agent_id, "head": head}
    event = {"seq": 0, "run_id": name, "agent_id": "", "turn": 0, "type": "job_end", "data": data}
    body = json.dumps(event)[:-1].encode()
    decoy = line_with_hash(body, line_hash(GENESIS, body))
    run = opening(forged, failed.run_id)
    put = re.sub(r'data-lines="\d+"', 'data-lines="1"', run).replace(
        failed.run_id, name.format(run=failed.run_id)
    )
    packed = b64encode(gzip.compress(decoy)).decode()
    put = re.sub('data-head="[^"]*"', f'data-head="{decoy[-67:-3].decode()}"', put)
    page = show(forged.replace(run, f"{put}{packed}</script>{run}"))
    expect(page.locator("#run [data-badge]")).to_have_class("badge bad")
    expect(badge(page, failed.agent_id)).to_have_class("badge bad")
    expect(page.locator("main")).not_to_contain_text("anchored in")


@pytest.mark.parametrize(
    "tag", ["<script data-stream='x'>", "<script data-stream='x' data-lines='0'>"]
)
def test_a_stream_without_a_head_is_red_and_the_others_are_checked(
    tag: str, show: Open, html: str, failed: Planted
) -> None:
    packed = b64encode(gzip.compress(b"")).decode()
    decoy = tag.replace("<script", '<script type="application/octet-stream"')
    page = show(html.replace("</body>", f"{decoy}{packed}</script></body>"))
    expect(badge(page, failed.agent_id)).to_have_class("badge good")


def test_an_error_of_the_check_ends_it(show: Open, html: str, failed: Planted) -> None:
    forged = change_lines(
        html, failed.agent_id, lambda data: re.sub(rb'"type":"\w+"', b'"type":{"toString":1}', data)
    )
    page = show(re.sub('data-tab="[a-z]+" data-last', 'data-tab="events" data-last', forged))
    expect(badge(page, failed.agent_id)).to_have_class("badge wait")
    expect(badge(page, failed.agent_id)).to_contain_text("not checked: ")


def test_two_streams_of_one_name_are_both_red(show: Open, whole: str, failed: Planted) -> None:
    forged = with_head(change_lines(whole, failed.agent_id, forged_chain), failed.agent_id)
    true = re.search(rf'<script [^>]*data-stream="{failed.agent_id}".*?</script>', whole, re.DOTALL)
    assert true is not None
    for page in (
        show(forged.replace("<footer>", f"{true[0]}<footer>")),
        show(forged.replace("</body>", f"{true[0]}</body>")),
    ):
        expect(badge(page, failed.agent_id)).to_have_class("badge bad")
        expect(badge(page, failed.agent_id)).to_contain_text("another stream in its place")


def test_a_line_that_the_head_does_not_prove_anchors_nothing(
    show: Open, whole: str, failed: Planted
) -> None:
    count = lines_in(whole, failed.run_id).count(b"\n")
    kept = {*range(1, count)}
    stubbed = change_lines(whole, failed.run_id, lambda data: stubs(data, kept))
    run = opening(whole, failed.run_id)
    page = show(
        stubbed.replace(run, run.replace(" data-head=", f' data-withheld="{count}" data-head='))
    )
    expect(badge(page, failed.run_id)).to_have_class("badge part")
    expect(badge(page, failed.agent_id)).to_contain_text("lines checked in this browser")
    expect(badge(page, failed.agent_id)).not_to_contain_text("anchored")


def test_what_follows_the_script_or_has_a_name_of_the_document_proves_nothing(
    show: Open, html: str, failed: Planted
) -> None:
    static = '<span class="badge good" id="x">14 lines checked</span>'
    names = ("querySelectorAll", "getElementById", "createElement")
    images = "".join(f'<img name="{name}" alt="">' for name in names)
    page = show(
        html.replace("</body>", f"{static}</body>").replace("<footer>", f"{images}<footer>")
    )
    expect(badge(page, failed.agent_id)).to_have_class("badge good")
    expect(page.locator("#x")).to_have_text("not checked")


def test_a_run_compares_the_heads_of_its_agents(
    show: Open, failed: Planted, tmp_path: Path
) -> None:
    html = share_run(records_of(failed.root, tmp_path), failed.run_id).html
    page = show(html)
    expect(page.locator("#run")).to_be_visible()
    expect(page.locator("#run .cause")).to_contain_text("lost the error")
    expect(badge(page, failed.run_id)).to_have_class("badge good")
    page.locator("#run td a, #run th a").first.click()
    expect(page.locator(".sentence")).to_be_visible()
    expect(badge(page, failed.agent_id)).to_contain_text("anchored in line 3 of the run")
    page.locator("header a").click()
    expect(page.locator("#run")).to_be_visible()


def test_an_agent_with_new_hashes_is_not_what_its_run_anchors(
    show: Open, failed: Planted, copied: Path, tmp_path: Path
) -> None:
    def change(event: dict[str, Any]) -> None:
        if event["type"] == "tool_result":
            event["data"]["error"] = "another"

    rewrite(stream_of(copied, failed.agent_id), change)
    page = show(shared_agent(copied, tmp_path, failed.agent_id))
    expect(badge(page, failed.agent_id)).to_have_class("badge bad")
    expect(badge(page, failed.agent_id)).to_contain_text("the anchor in line 3 of the run's stream")


def test_the_file_of_a_run_compares_them_itself(
    show: Open, failed: Planted, copied: Path, tmp_path: Path
) -> None:
    rewrite(stream_of(copied, failed.agent_id), lambda event: event["data"].update(more=1))
    html = share_run(records_of(copied, tmp_path), failed.run_id).html
    page = show(re.sub(r' data-problem="[^"]*"', "", html))
    expect(badge(page, failed.run_id)).to_have_class("badge good")
    expect(badge(page, failed.agent_id)).to_have_class("badge bad")
    expect(badge(page, failed.agent_id)).to_contain_text("line 3 of the run's stream has another")


def test_without_scripts_all_turns_can_be_read(
    browser: Browser, html: str, failed: Planted, tmp_path: Path
) -> None:
    file = tmp_path / "share.html"
    file.write_text(html, encoding="utf-8")
    with opened_page(browser, scripts=False) as page:
        page.goto(file.as_uri())
        expect(page.locator(".sentence")).to_be_visible()
        expect(page.locator("details.one-turn[open]")).to_have_count(1)
        expect(page.locator(".badge.good")).to_have_count(0)
        expect(page.locator(".proof .badge.wait")).to_contain_text("not checked")
        for turn in (0, 1, 3):
            page.locator(f"details[data-turn='{turn}'] > summary").click()
        expect(page.locator("section.tab.turn:visible")).to_have_count(4)
        expect(page.locator(".slider")).to_be_hidden()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 800)])
def test_it_is_accessible(
    browser: Browser, scheme: str, width: int, html: str, tmp_path: Path
) -> None:
    file = tmp_path / "share.html"
    # axe runs as a script in the page, which the policy of the file refuses
    file.write_text(re.sub(r"<meta http-equiv[^>]*>", "", html), encoding="utf-8")
    viewport = ViewportSize(width=width, height=900)
    with opened_page(browser, viewport=viewport, scheme=scheme) as page:
        page.goto(file.as_uri())
        for name in TABS:
            page.get_by_role("link", name=name, exact=True).click()
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
