"""Page of `remora ui`: time until its rows can be used against a page that fetches all events.

The other page (`viewer_peer/`) fetches an agent's stream as JSON lines from a static server, folds
all events into the same rows, and shows them with React and a virtual list. A page can be used when
its rows are visible and a click on one has shown the tool's output.
"""

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser, BrowserContext, Page
from viewer_streams import Wanted, record_run, records_of

from tests.browser import started_browser

PEER = Path(__file__).with_name("viewer_peer")
STATIC = Path(__file__).parents[1] / "src/remora/web/static"
TURNS = 10
"""Turns that are opened before the memory is read."""
LIMIT_MS = 60_000
RUNS = 1_000
USABLE = """
const measured = (window.measured = {});
let isReady = false;
function firstRow() {
  for (const row of document.querySelectorAll("[data-turn]:not([data-turn='0'])")) {
    const box = row.getBoundingClientRect();
    const list = row.closest(".rows")?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
    if (box.height && box.top < list.bottom && box.bottom > list.top) return row;
  }
}
function look() {
  if (!isReady || measured.usable) return;
  if (measured.turn === undefined) {
    const row = firstRow();
    if (!row) return;
    measured.rows = performance.now();
    measured.turn = row.dataset.turn;
    for (const part of row.matches("article") ? row.querySelectorAll(".step summary") : [row]) part.click();
  }
  const shown = document.querySelector("#detail h2")?.textContent;
  const isShown = shown === `turn ${measured.turn}` && document.querySelector("#detail pre");
  if (isShown || document.querySelector(`#t${measured.turn} [open] pre`)) {
    measured.usable = performance.now();
  }
}
new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
document.addEventListener("DOMContentLoaded", () => setTimeout(() => { isReady = true; look(); }));
"""
SEEN = """
const seen = (window.seen = {});
new MutationObserver(() => {
  const now = Date.now();
  for (const row of document.querySelectorAll("#turns [data-turn]")) {
    seen[`${row.dataset.turn} row`] ??= now;
    if (row.querySelector(".success")) seen[`${row.dataset.turn} outcome`] ??= now;
  }
}).observe(document, { subtree: true, childList: true });
"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


class Sizes(NamedTuple):
    """Bytes of streams, repetitions, and turns that appear while a page is open.

    The run has 200 jobs, of which each fifth failed.
    """

    large: int = 50_000_000
    small: int = 1_000_000
    jobs: int = 200
    rounds: int = 11
    live: int = 100


FULL = Sizes()
QUICK = Sizes(large=5_000_000, small=400_000, jobs=5, rounds=1, live=3)


class Opened(NamedTuple):
    """Milliseconds from the start of a navigation."""

    paint: float
    usable: float


class Server(NamedTuple):
    """A running `remora ui`, and the state of a browser that was let in."""

    base: str
    pid: int
    state: Any

    def peak(self) -> float:
        """Return the peak of its memory in MB."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return max(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main(sizes: Sizes = FULL) -> dict[str, float]:
    """Return the figures that have an aim."""
    missing = [name for name in ("npm", "chromium") if shutil.which(name) is None]
    if missing:
        print(f"left out: {' and '.join(missing)} missing")
        return {}
    build_peer()
    with TemporaryDirectory(prefix="viewer-") as place, started_browser() as browser:
        root, environ = Path(place, "project"), _environ(Path(place))
        root.mkdir()
        agents, runs = _record(root, environ, sizes)
        found = {"page_kb": page_kilobytes()}
        found |= _agent_figures(browser, root, environ, agents, sizes.rounds)
        found |= _run_figures(browser, root, environ, runs, sizes.rounds)
        found["seen_p95_ms"] = _seen_p95(browser, root, environ, sizes.live)
        found["home_paint_ms"] = _home_paint(browser, root, environ, sizes.rounds)
    for name, limit in LIMITS.items():
        print(f"{name:28} {found[name]:8.2f}   (at most {limit})")
    return found


LIMITS = {
    "usable_over_peer": 0.5,
    "usable_over_peer_good": 0.5,
    "paint_large_over_small": 1.5,
    "run_paint_large_over_small": 1.5,
    "memory_large_over_small": 1.5,
    "seen_p95_ms": 250,
    "home_paint_ms": 500,
    "page_kb": 30,
}


def page_kilobytes() -> float:
    """Return the size of the page's own scripts and styles, compressed."""
    files = [*STATIC.glob("*.js"), *STATIC.glob("*.css")]
    return sum(len(gzip.compress(file.read_bytes())) for file in files) / 1e3


def build_peer() -> None:
    """Install the other page's packages as its lock file names them, and bundle it."""
    for words in (["ci", "--silent", "--no-audit", "--no-fund"], ["run", "build", "--silent"]):
        subprocess.run(
            ["npm", *words],
            cwd=PEER, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def _environ(place: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(place / "home")}


def _record(
    root: Path, environ: dict[str, str], sizes: Sizes
) -> tuple[dict[str, str], dict[str, str]]:
    """Record agents and runs, and return their IDs by size."""
    project = records_of(root, environ)
    wanted = {
        "large": Wanted("large", sizes.large),
        "good": Wanted("good", sizes.large, "submitted"),
        "small": Wanted("small", sizes.small),
    }
    ids = record_run(project, "20260101-000000-aaaaaa", [*wanted.values()])
    runs = {"large": "20260101-000000-bbbbbb", "small": "20260101-000000-cccccc"}
    for name, run_id in runs.items():
        size = (sizes.large if name == "large" else sizes.small) // sizes.jobs
        jobs = [
            Wanted(f"part_{number}", size, "submitted" if number % 5 else "failed")
            for number in range(sizes.jobs)
        ]
        record_run(project, run_id, jobs)
    return dict(zip(wanted, ids, strict=True)), runs


def _agent_figures(
    browser: Browser, root: Path, environ: dict[str, str], agents: dict[str, str], rounds: int
) -> dict[str, float]:
    """Return the figures of an agent's page. `good` is the large agent that did not fail."""
    ours: dict[str, list[Opened]] = {name: [] for name in agents}
    peer: dict[str, list[Opened]] = {name: [] for name in agents}
    memory = {}
    with ExitStack() as stack:
        streams = stack.enter_context(_static(root / ".agentfs/traces", "/streams"))
        servers = {name: stack.enter_context(_served(browser, root, environ)) for name in agents}
        for _ in range(rounds):
            for name, agent in agents.items():
                address = f"{servers[name].base}/agents/{agent}"
                ours[name].append(_open(browser, address, servers[name].state))
                peer[name].append(
                    _open(browser, f"{streams}/index.html?stream=/streams/{agent}.jsonl")
                )
        for name, agent in agents.items():
            _open_turns(browser, servers[name], agent)
            memory[name] = servers[name].peak()
    for name in agents:
        for who, opened in (("ours", ours[name]), ("peer", peer[name])):
            usable, paint = (
                median(getattr(each, what) for each in opened) for what in ("usable", "paint")
            )
            print(
                f"{name:6} {who}: usable after {usable:6.0f} ms, first paint after {paint:6.0f} ms"
            )
        print(f"{name:6} ours: server memory {memory[name]:.0f} MB at most")
    return {
        "usable_over_peer": _ratio(ours["large"], peer["large"], "usable"),
        "usable_over_peer_good": _ratio(ours["good"], peer["good"], "usable"),
        "paint_large_over_small": _ratio(ours["large"], ours["small"], "paint"),
        "memory_large_over_small": memory["large"] / memory["small"],
    }


def _ratio(these: Sequence[Opened], those: Sequence[Opened], what: str) -> float:
    mine, other = (median(getattr(each, what) for each in some) for some in (these, those))
    return float(mine / other)


def _run_figures(
    browser: Browser, root: Path, environ: dict[str, str], runs: dict[str, str], rounds: int
) -> dict[str, float]:
    """Return the figures of the page of a run with many agents."""
    paints: dict[str, list[float]] = {name: [] for name in runs}
    with _served(browser, root, environ) as server:
        for _ in range(rounds):
            for name, run_id in runs.items():
                with _page(browser, server.state) as page:
                    page.goto(f"{server.base}/runs/{run_id}", wait_until="load")
                    paints[name].append(_value(page, PAINT))
                    page.locator("#badge .badge").wait_for(timeout=LIMIT_MS)
    for name, times in paints.items():
        print(f"{name:6} run: first paint after {median(times):6.0f} ms")
    return {"run_paint_large_over_small": median(paints["large"]) / median(paints["small"])}


def _open(browser: Browser, address: str, state: Any = None) -> Opened:
    """Open a page, click on a row when it is visible, and wait until nothing is left to do."""
    with _page(browser, state) as page:
        page.add_init_script(USABLE)
        page.goto(address, wait_until="commit")
        usable = _value(page, "window.measured.usable")
        found = Opened(_value(page, PAINT), usable)
        if state is not None:  # the badge takes a pass over the stream
            page.locator("#badge .badge").wait_for(timeout=LIMIT_MS)
        return found


def _value(page: Page, expression: str) -> float:
    """Return a number of the page when there is one. Its policy forbids to wait in the page."""
    for _ in range(LIMIT_MS // 50):
        value = page.evaluate(expression)
        if value is not None:
            return float(value)
        page.wait_for_timeout(50)
    raise SystemExit(f"{page.url} has no {expression}")


def _home_paint(browser: Browser, root: Path, environ: dict[str, str], rounds: int) -> float:
    """Return the median milliseconds until a list of `RUNS` runs is painted."""
    folder = root / ".agentfs/runs"
    stream = min(folder.glob("*.jsonl"), key=lambda path: path.stat().st_size)
    for number in range(RUNS):
        shutil.copyfile(stream, folder / f"20260102-{number:06}-aaaaaa.jsonl")
    paints = []
    with _served(browser, root, environ) as server:
        for _ in range(rounds):
            with _page(browser, server.state) as page:
                page.goto(f"{server.base}/", wait_until="load")
                paints.append(_value(page, PAINT))
    print(f"{RUNS} runs: first paint after {median(paints):.0f} ms")
    return median(paints)


def _open_turns(browser: Browser, server: Server, agent: str) -> None:
    with _page(browser, server.state) as page:
        page.goto(f"{server.base}/agents/{agent}")
        last = int(page.locator("#slider").get_attribute("max") or 0)
        for number in range(1, TURNS + 1):
            page.goto(f"{server.base}/agents/{agent}?turn={last * number // TURNS}")
            page.locator(".label", has_text="Packet").first.wait_for(timeout=LIMIT_MS)


def _seen_p95(browser: Browser, root: Path, environ: dict[str, str], turns: int) -> float:
    """Return the 95th percentile of milliseconds from an event's writing to its row in the page."""
    words = [sys.executable, str(PEER.with_name("viewer_streams.py"))]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        _served(browser, root, environ) as server,
        subprocess.Popen(
            [*words, str(root), "20260101-000000-dddddd", str(turns)], env=environ, **pipes
        ) as writer,
        _page(browser, server.state) as page,
    ):
        assert writer.stdin is not None
        assert writer.stdout is not None
        page.add_init_script(SEEN)
        page.goto(f"{server.base}/agents/{writer.stdout.readline().strip()}")
        page.locator("#status", has_text="running").wait_for()
        writer.stdin.write("\n")
        writer.stdin.flush()
        lines = [writer.stdout.readline().split() for _ in range(2 * turns)]
        _value(page, f"window.seen['{turns} outcome']")
        seen = page.evaluate("window.seen")
        writer.stdin.close()
    late = [seen[f"{turn} {part}"] - float(written) * 1e3 for turn, part, written in lines]
    p95 = quantiles(late, n=20)[18]
    print(f"{len(late)} events seen after {median(late):.0f} ms (p50), {p95:.0f} ms (p95)")
    return float(p95)


@contextmanager
def _served(browser: Browser, root: Path, environ: dict[str, str]) -> Iterator[Server]:
    """Run `remora ui` during the block, with a browser that was let in."""
    words = [sys.executable, "-m", "remora", "--root", str(root), "ui", "--port", "0"]
    with subprocess.Popen(
        words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().split()[-1]
        base = link.partition("/start")[0]
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        page.wait_for_url("**/")
        state = context.storage_state()
        context.close()
        try:
            yield Server(base, process.pid, state)
        finally:
            process.terminate()
            process.communicate()


@contextmanager
def _page(browser: Browser, state: Any) -> Iterator[Page]:
    """Yield a page of a new context, which has nothing in its cache."""
    context: BrowserContext = browser.new_context(
        storage_state=state, viewport={"width": 1440, "height": 900}
    )
    foreign: list[str] = []
    page = context.new_page()
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("http://127.0.0.1:", "data:"))
            else foreign.append(request.url)
        ),
    )
    yield page
    context.close()
    if foreign:
        raise SystemExit(f"a page made a request to {foreign[0]}")


@contextmanager
def _static(streams: Path, prefix: str) -> Iterator[str]:
    """Serve the other page, and streams below `prefix`, in a process of its own."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(there, streams, prefix))
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, streams: Path, prefix: str) -> None:
        self._streams, self._prefix = streams, prefix
        super().__init__(*args, directory=str(PEER))

    def translate_path(self, path: str) -> str:
        if path.startswith(self._prefix + "/"):
            return str(self._streams / path.removeprefix(self._prefix + "/"))
        return super().translate_path(path)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing on stderr."""


def _serve(ready: Any, streams: Path, prefix: str) -> None:
    handler = partial(_Handler, streams=streams, prefix=prefix)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        ready.send(server.server_port)
        server.serve_forever()


if __name__ == "__main__":
    main(QUICK if "--quick" in sys.argv else FULL)
