// The page of an agent: turns are selected without loading the page again, and new ones appear.

import { load, parse, showBadges } from "/static/parts.js";

const agent = document.getElementById("agent");
const rows = document.getElementById("rows");
const panel = document.getElementById("turn");
const slider = document.getElementById("slider");
const base = `/agents/${encodeURIComponent(agent.dataset.agent)}`;
let loading = null;

function tabName() {
  return panel.querySelector("[data-tab][aria-current]")?.dataset.tab ?? "packet";
}

/** Show a tab of a turn. `against` is the turn to compare its packet with, `hash` the event to mark. */
async function show(turn, { tab = tabName(), against = "", hash = "", push = true, focus = false } = {}) {
  loading?.abort();
  const mine = (loading = new AbortController());
  panel.classList.add("loading");
  slider.value = turn;
  const query = new URLSearchParams({ tab, ...(against !== "" && { against }) });
  try {
    panel.replaceChildren(await load(`${base}/turns/${turn}?${query}`, mine.signal));
  } catch (error) {
    if (error.name === "AbortError") return;
    const note = document.createElement("p");
    note.className = "problem";
    note.textContent = `Turn ${turn} cannot be shown: ${error.message}`;
    panel.replaceChildren(note);
  }
  panel.classList.remove("loading");
  if (push) history.pushState({ turn, tab, against }, "", `${base}?${new URLSearchParams({ turn, tab, ...(against !== "" && { against }) })}${hash}`);
  markEvent(hash);
  await mark(turn);
  if (focus) panel.querySelector("[data-tab][aria-current]")?.focus();
  await showRest(mine.signal);
}

/** Mark the event that a link leads to, and open it. */
function markEvent(hash) {
  const row = hash && document.getElementById(hash.slice(1));
  if (!row) return;
  row.classList.add("chosen-event");
  row.querySelector("details")?.setAttribute("open", "");
  row.scrollIntoView({ block: "nearest" });
}

/** Return the tab to show of another turn. The why line is about all turns. */
function turnTab() {
  return tabName() === "why" ? "packet" : tabName();
}

/** Load the part of a tab for which the server reads the whole of a large stream. */
async function showRest(signal) {
  const rest = panel.querySelector("[data-whole]");
  if (!rest) return;
  try {
    const whole = await load(rest.dataset.whole, signal);
    const hadFocus = panel.contains(document.activeElement);
    panel.replaceChildren(whole);
    if (hadFocus) panel.querySelector("[data-tab][aria-current]")?.focus();
  } catch (error) {
    if (error.name !== "AbortError") rest.textContent = error.message;
  }
}

/** Mark the row of a turn. If it is not in the list, load the rows that begin with it. */
async function mark(turn) {
  let row = document.getElementById(`t${turn}`);
  if (!row) {
    rows.replaceChildren(await load(`${base}/rows?from=${Math.max(0, turn - 50)}`));
    watchEnd();
    row = document.getElementById(`t${turn}`);
  }
  rows.querySelector("[aria-current]")?.removeAttribute("aria-current");
  row?.setAttribute("aria-current", "true");
  if (row) reveal(row);
}

/** Scroll the list, and never the page, until a row is below the list's head. */
function reveal(row) {
  const list = row.closest(".turns");
  const head = list.querySelector("thead").offsetHeight;
  const [top, bottom] = [row.offsetTop - head, row.offsetTop + row.offsetHeight - list.clientHeight];
  list.scrollTop = Math.min(Math.max(list.scrollTop, bottom), top);
}

function currentTurn() {
  return Number(slider.value);
}

/** Load the next rows when the last one comes into view. */
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      seen.unobserve(entry.target);
      load(entry.target.querySelector("a").dataset.rows).then((more) => {
        entry.target.replaceWith(more);
        watchEnd();
      });
    }
  }
});

function watchEnd() {
  const more = rows.querySelector(".more");
  if (more) seen.observe(more);
}

rows.addEventListener("click", (event) => {
  const row = event.target.closest("[data-turn]");
  if (row && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    show(Number(row.dataset.turn), { tab: turnTab() });
  }
});

panel.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || link.hasAttribute("download") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const address = new URL(link.href);
  if (address.origin !== location.origin || address.pathname !== base) return;
  event.preventDefault();
  const query = address.searchParams;
  show(Number(query.get("turn")), { tab: query.get("tab") ?? tabName(), hash: address.hash, focus: link.dataset.tab !== undefined });
});

panel.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  show(currentTurn(), { tab: "packet", against: form.get("against") });
});

let waiting;
slider.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => show(currentTurn(), { tab: turnTab() }), 60);
});

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const turn = Math.min(Number(slider.max), Math.max(0, currentTurn() + step));
  if (turn !== currentTurn()) show(turn, { tab: turnTab() });
});

addEventListener("popstate", () => {
  const query = new URLSearchParams(location.search);
  if (query.has("turn")) {
    show(Number(query.get("turn")), { tab: query.get("tab") ?? "packet", against: query.get("against") ?? "", hash: location.hash, push: false });
  }
});

/** Follow a running agent: rows appear and change as its stream grows. */
function follow() {
  const last = rows.querySelector("tr:last-of-type")?.dataset.turn ?? agent.dataset.last;
  const source = new EventSource(`/live${base}?after=${last}`);
  source.addEventListener("row", (event) => {
    const row = parse(event.data).querySelector("tr");
    const known = document.getElementById(row.id);
    if (known?.hasAttribute("aria-current")) row.setAttribute("aria-current", "true");
    if (known) known.replaceWith(row);
    else if (!rows.querySelector(".more")) rows.append(row);
    slider.max = Math.max(Number(slider.max), Number(row.dataset.turn));
  });
  source.addEventListener("end", (event) => {
    source.close();
    document.getElementById("status").textContent = event.data;
    showBars();
    showBadges();
  });
  source.onerror = () => {
    document.getElementById("status").textContent = "disconnected";
  };
  source.onopen = () => {
    document.getElementById("status").textContent = "running";
  };
}

async function showBars() {
  document.getElementById("bars").replaceChildren(await load(`${base}/bars`));
}

/** Show what the server reads the whole stream for, one after the other. */
async function showSlowParts() {
  loading = new AbortController();
  await showRest(loading.signal);
  await showBars();
  if (!("live" in agent.dataset)) await showBadges();
}

watchEnd();
const shown = document.querySelector("#rows [aria-current]");
if (shown) reveal(shown);
markEvent(location.hash);
if ("live" in agent.dataset) follow();
showSlowParts();
