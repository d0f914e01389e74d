// The page of an agent: turns are loaded as they come into view, and those of a running agent appear.

import { follow, load, parse, problem, showBadges } from "/static/parts.js";

const MOST = 100; // turns of a running agent that stay on the page
const agent = document.getElementById("agent");
const turns = document.getElementById("turns");
const slider = document.getElementById("slider");
const status = document.getElementById("status");
const whole = document.getElementById("whole");
const base = `/agents/${encodeURIComponent(agent.dataset.agent)}`;
const more = whole ? "&whole=1" : ""; // packets of a large stream are read after the first look
const shown = () => [...turns.querySelectorAll("[data-turn]")];
const number = (turn) => Number(turn.dataset.turn);
let current = turns.querySelector("[aria-current]");
let loading = null;

/** Select a turn. If it is not on the page, load the turns around it.
 *
 * `entry` says what becomes of the browser's history: `push`, `replace` for one step of many, or nothing.
 */
async function select(turn, { focus = true, entry = "push" } = {}) {
  loading?.abort();
  const { signal } = (loading = new AbortController());
  if (!document.getElementById(`t${turn}`)) {
    try {
      turns.replaceChildren(await load(`${base}/rows?from=${Math.max(0, turn - 10)}`, signal));
    } catch (error) {
      if (!signal.aborted) turns.prepend(problem(`Turn ${turn} cannot be shown: ${error.message}`));
      return;
    }
    watchEnds();
  }
  current?.removeAttribute("aria-current");
  current = document.getElementById(`t${turn}`);
  if (!current) return;
  current.setAttribute("aria-current", "true");
  if (focus) current.focus({ preventScroll: true });
  current.scrollIntoView({ block: "start" });
  if (entry) history[`${entry}State`]({ turn }, "", `${base}?turn=${turn}#t${turn}`);
  showPlace(turn);
  await showPackets(signal);
}

function showPlace(turn) {
  if (!slider) return;
  slider.value = turn;
  slider.setAttribute("aria-valuetext", `turn ${turn}`);
  document.getElementById("at").value = turn;
}

/** Load more turns when the end of the list comes into view, in both directions. */
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    load(target.firstElementChild.dataset.part + more).then((found) => {
      if (!target.isConnected) return;
      const after = target.nextElementSibling;
      const place = after?.getBoundingClientRect().top;
      target.replaceWith(found);
      if (after) scrollBy(0, after.getBoundingClientRect().top - place);
      watchEnds();
    }).catch((error) => { target.append(problem(error.message)); });
  }
});

function watchEnds() {
  for (const end of turns.querySelectorAll(".more")) seen.observe(end);
}

/** Mark the event that a link leads to, and open it. */
function markEvent() {
  const row = location.hash.startsWith("#e") && document.getElementById(location.hash.slice(1));
  if (!row) return;
  row.classList.add("chosen-event");
  row.querySelector("details")?.setAttribute("open", "");
  row.scrollIntoView({ block: "center" });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || link.hasAttribute("download") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const { pathname, searchParams, hash } = new URL(link.href);
  if (pathname !== base || !hash.startsWith("#t") || searchParams.has("record")) return;
  event.preventDefault();
  select(Number(searchParams.get("turn")));
});

addEventListener("popstate", ({ state }) => { if (state) select(state.turn, { entry: "" }); });

let waiting;
slider?.addEventListener("input", () => {
  showPlace(slider.value);
  clearTimeout(waiting);
  waiting = setTimeout(() => select(Number(slider.value), { focus: false, entry: "replace" }), 60);
});

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: 1, k: -1 }[event.key];
  const next = (current ? number(current) : 0) + (step ?? 0);
  if (step && next >= 0 && next <= Number(agent.dataset.last)) select(next, { entry: "replace" });
});

/** Put a turn in the place of an older version. What was open, and the focus, stay. */
function replace(known, turn) {
  const active = known.contains(document.activeElement) ? document.activeElement : null;
  const folds = (of) => [...of.querySelectorAll("details:not(.record details)")];
  const opened = new Set(folds(known).filter((fold) => fold.open).map((fold) => fold.firstElementChild.textContent));
  for (const fold of folds(turn)) fold.open ||= opened.has(fold.firstElementChild.textContent);
  const record = known.querySelector(".record:not([data-part])");
  if (record) turn.querySelector(".record").replaceWith(record);
  if (known.hasAttribute("aria-current")) {
    turn.setAttribute("aria-current", "true");
    current = turn;
  }
  known.replaceWith(turn);
  if (!active) return;
  const same = [...turn.querySelectorAll(active.tagName)].find((node) => node.textContent === active.textContent);
  (turn.contains(active) ? active : (same ?? turn)).focus({ preventScroll: true });
}

/** Append a turn, unless later ones are not shown. Of many, the first are left to a link. */
function append(turn) {
  if (turns.querySelector(".more.later")) return;
  turns.append(turn);
  agent.dataset.last = turn.dataset.turn;
  if (slider) slider.max = turn.dataset.turn;
  if (shown().length <= MOST) return;
  shown()[0].remove();
  turns.querySelector(".more.earlier")?.remove();
  const before = number(shown()[0]);
  turns.prepend(parse(`<p class="more earlier"><a href="${base}?turn=${before - 1}" data-part="${base}/rows?before=${before}">earlier turns</a></p>`));
}

function followAgent() {
  const last = () => shown().at(-1)?.dataset.turn ?? agent.dataset.last;
  follow(() => `/live${base}?after=${last()}`, status, {
    turn(data) {
      const turn = parse(data).querySelector("[data-turn]");
      const known = document.getElementById(turn.id);
      if (known) replace(known, turn);
      else append(turn);
    },
    end(data) {
      status.replaceChildren(parse(data));
      showBadges();
    },
  });
}

/** Load the packets of a large stream, all of which the server reads for them. */
async function showPackets(signal) {
  if (!whole || !shown().length) return;
  try {
    const found = await load(`${base}/rows?from=${number(shown()[0])}${more}`, signal);
    for (const turn of found.querySelectorAll("[data-turn]")) {
      const known = document.getElementById(turn.id);
      if (known) replace(known, turn);
    }
    whole.remove();
  } catch (error) {
    if (!signal.aborted) whole.append(problem(error.message));
  }
}

watchEnds();
if (current) history.replaceState({ turn: number(current) }, "");
if (location.search && current && location.hash.startsWith("#t")) current.scrollIntoView();
markEvent();
if ("live" in agent.dataset) followAgent();
else showPackets((loading = new AbortController()).signal).then(showBadges);
