// The page of an agent: turns are selected without loading the page again, and new ones appear.

import { follow, load, parse, showBadges } from "/static/parts.js";

const agent = document.getElementById("agent");
const rows = document.getElementById("rows");
const panel = document.getElementById("turn");
const slider = document.getElementById("slider");
const base = `/agents/${encodeURIComponent(agent.dataset.agent)}`;
let loading = null;

function tabName() {
  return panel.querySelector("[data-tab][aria-current]")?.dataset.tab ?? "packet";
}

/** Show a tab of a turn. `against` is the turn to compare its packet with, `hash` the event to mark.
 *
 * `entry` says what becomes of the browser's history: `push`, `replace` for one step of many, or nothing.
 */
async function show(turn, { tab = tabName(), against = "", hash = "", entry = "push", focus = false } = {}) {
  loading?.abort();
  const { signal } = (loading = new AbortController());
  panel.classList.add("loading");
  panel.setAttribute("aria-busy", "true");
  slider.value = turn;
  const query = new URLSearchParams({ tab, ...(against !== "" && { against }) });
  try {
    panel.replaceChildren(await load(`${base}/turns/${turn}?${query}`, signal));
  } catch (error) {
    if (signal.aborted) return;
    panel.replaceChildren(problem(`Turn ${turn} cannot be shown: ${error.message}`));
  }
  panel.classList.remove("loading");
  panel.removeAttribute("aria-busy");
  if (entry) history[`${entry}State`]({ turn, tab, against }, "", `${base}?turn=${turn}&${query}${hash}`);
  markEvent(hash);
  await mark(turn, signal);
  if (signal.aborted) return;
  if (focus) panel.querySelector("[data-tab][aria-current]")?.focus();
  await showRest(signal);
}

/** Load the tab of the current turn again, because the turn has new events. */
async function showAgain() {
  const { signal } = (loading ??= new AbortController());
  const query = new URLSearchParams(history.state);
  query.delete("turn");
  if (signal.aborted || panel.ariaBusy || query.get("against") || panel.contains(document.activeElement)) return;
  try {
    const fresh = await load(`${base}/turns/${currentTurn()}?${query}`, signal);
    const open = [...panel.querySelectorAll("details")].map((each) => each.open);
    for (const [place, each] of fresh.querySelectorAll("details").entries()) each.open ||= open[place] ?? false;
    panel.replaceChildren(fresh);
    await showRest(signal);
  } catch {
    // the next event, or the reader, loads it again
  }
}

function problem(text) {
  const note = document.createElement("p");
  note.className = "problem";
  note.setAttribute("role", "alert");
  note.textContent = text;
  return note;
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

/** Mark the row of a turn, and say it. If it is not in the list, load the rows around it. */
async function mark(turn, signal) {
  let row = document.getElementById(`t${turn}`);
  if (!row) {
    try {
      rows.replaceChildren(await load(`${base}/rows?from=${Math.max(0, turn - 50)}`, signal));
    } catch (error) {
      if (!signal.aborted) panel.prepend(problem(`The list of turns cannot be shown: ${error.message}`));
      return;
    }
    watchEnds();
    row = document.getElementById(`t${turn}`);
  }
  rows.querySelector("[aria-current]")?.removeAttribute("aria-current");
  row?.setAttribute("aria-current", "true");
  if (row) reveal(row);
  sayTurn();
}

/** Tell screen readers which turn and tab are shown. */
function sayTurn() {
  const call = rows.querySelector("[aria-current] .call")?.textContent.trim() ?? "";
  const tab = panel.querySelector("[data-tab][aria-current]")?.textContent ?? "";
  slider.setAttribute("aria-valuetext", `turn ${slider.value}: ${call}`);
  document.getElementById("said").textContent = `turn ${slider.value}, ${tab}`;
}

/** Scroll the list, and never the page, until a row is below the list's head. */
function reveal(row) {
  const list = row.closest(".turns");
  const head = list.querySelector("thead").offsetHeight;
  const [top, bottom] = [row.offsetTop - head, row.offsetTop + row.offsetHeight - list.clientHeight];
  if (list.scrollTop < bottom) {
    const first = [...list.querySelectorAll("tbody tr")].find((each) => each.offsetTop - head >= bottom);
    const [table, start] = [row.closest("table"), (first ?? row).offsetTop - head];
    table.style.marginBottom = `${Math.max(0, start + list.clientHeight - table.offsetHeight)}px`;
    list.scrollTop = start;
  }
  list.scrollTop = Math.min(list.scrollTop, top);
}

function currentTurn() {
  return Number(slider.value);
}

/** Load more rows when the end of the list comes into view, in both directions. */
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    const link = target.querySelector("a");
    load(link.dataset.rows).then((more) => {
      if (!target.isConnected) return;
      const [list, after] = [target.closest(".turns"), target.nextElementSibling];
      const place = after?.offsetTop;
      target.replaceWith(more);
      if (after) list.scrollTop += after.offsetTop - place;
      watchEnds();
    }).catch((error) => { link.title = error.message; });
  }
});

function watchEnds() {
  for (const more of rows.querySelectorAll(".more")) seen.observe(more);
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
  waiting = setTimeout(() => show(currentTurn(), { tab: turnTab(), entry: "replace" }), 60);
});

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const turn = Math.min(Number(slider.max), Math.max(0, currentTurn() + step));
  if (turn !== currentTurn()) show(turn, { tab: turnTab(), entry: "replace" });
});

addEventListener("popstate", ({ state }) => {
  if (state) show(state.turn, { ...state, hash: location.hash, entry: "" });
});

/** Follow a running agent: rows appear and change as its stream grows. */
function followAgent() {
  const status = document.getElementById("status");
  const last = () => [...rows.querySelectorAll("[data-turn]")].at(-1)?.dataset.turn ?? agent.dataset.last;
  follow(() => `/live${base}?after=${last()}`, status, {
    row(data) {
      const row = parse(data).querySelector("tr");
      const known = document.getElementById(row.id);
      if (known?.hasAttribute("aria-current")) row.setAttribute("aria-current", "true");
      if (known) known.replaceWith(row);
      else if (!rows.querySelector(".more.later")) rows.append(row);
      slider.max = Math.max(Number(slider.max), Number(row.dataset.turn));
      if (Number(row.dataset.turn) === currentTurn()) showAgain();
    },
    end(data) {
      status.replaceChildren(parse(data));
      showBadges();
    },
  });
}

/** Show what the server reads the whole stream for, one after the other. */
async function showSlowParts() {
  loading = new AbortController();
  await showRest(loading.signal);
  if (!("live" in agent.dataset)) await showBadges();
}

const asked = new URLSearchParams(location.search);
history.replaceState({ turn: currentTurn(), tab: tabName(), against: asked.get("against") ?? "" }, "");
watchEnds();
const shown = document.querySelector("#rows [aria-current]");
if (shown) reveal(shown);
markEvent(location.hash);
if ("live" in agent.dataset) followAgent();
showSlowParts();
