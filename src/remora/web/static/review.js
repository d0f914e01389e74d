// Keys, marks, context and progress of the review. Verdicts work without it.

import { load, problem } from "/static/parts.js";

const STEP = 10; // lines of context that one press adds
const changes = [...document.querySelectorAll(".change-set")];
document.querySelector(".index")?.toggleAttribute("open", innerWidth > 1000);
const decided = document.querySelector(".decided");
let current = -1;

function select(place) {
  if (!changes.length) return;
  current = Math.min(changes.length - 1, Math.max(0, place));
  show(changes[current]);
}

function show(part, focused = part) {
  focused.focus({ preventScroll: true });
  part.scrollIntoView({ block: part.offsetHeight > innerHeight / 2 ? "start" : "nearest" });
}

function selectHunk(step) {
  const hunks = [...document.querySelectorAll(".change-set:not(.folded) fieldset")];
  const at = hunks.indexOf(document.activeElement.closest("fieldset"));
  const first = hunks.findIndex((hunk) => changes[current]?.contains(hunk));
  const hunk = hunks[at < 0 ? first : at + step];
  if (hunk) show(hunk, hunk.querySelector("input, pre"));
}

function accept() {
  const button = changes[current]?.querySelector("button[value=accept]");
  if (button && !button.disabled) return button.click();
  const row = changes[current]?.querySelector(".verdict");
  row?.querySelector(".problem")?.remove();
  row?.append(problem(button ? "Check a hunk first, or reject the change." : "This change cannot be accepted now."));
  row?.scrollIntoView({ block: "nearest" });
}

const entry = (change) => document.querySelector(`.tree [href="#${change?.id}"]`);

const keys = {
  j: () => select(current + 1),
  k: () => select(current - 1),
  J: () => selectHunk(1),
  K: () => selectHunk(-1),
  y: accept,
  n: () => changes[current]?.querySelector("[name=reason]")?.focus(),
  c: () => keys.n(),
  v: () => {
    changes[current]?.focus({ preventScroll: true }); // a folded hunk would lose it
    changes[current]?.querySelector(".viewed input").click();
  },
  e: () => changes[current]?.querySelectorAll(".context").forEach((button) => button.click()),
  s: () => changes[current]?.querySelectorAll("[name=hunk]").forEach((box) => {
    box.checked = false;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }),
  u: () => decided?.querySelector("button[value=undo]").click(),
  q: () => document.querySelector("a.where").click(),
  "?": () => {
    const list = document.getElementById("keys");
    list.open = true;
    list.scrollIntoView({ block: "center" });
  },
};

// Enter in a check box would press a button
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("[name=hunk]")) event.preventDefault();
});

// single letters decide only where the focus is; if nothing has it, some move it back
document.addEventListener("keydown", (event) => {
  const moves = event.target === document.body && "jkJKq?".includes(event.key);
  if (!moves && !event.target.closest(".change-set, .decided")) return;
  if (event.target.matches("input:not([type=checkbox]), select")) return;
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  if (event.repeat && !"jkJK".includes(event.key)) return;
  keys[event.key]();
});

decided?.addEventListener("focusin", () => { current = -1; });
for (const [place, change] of changes.entries()) {
  change.addEventListener("focusin", () => {
    for (const other of changes) entry(other)?.setAttribute("aria-current", other === change);
    current = place;
  });
  change.addEventListener("click", ({ target }) => { // a click on a line names it in the comment
    const line = target.closest(".numbered [data-old]:not(.hunk)");
    const reason = change.querySelector("[name=reason]");
    if (!line || !reason || !getSelection().isCollapsed) return;
    const path = new URL(line.closest("[data-lines]").dataset.lines, location).searchParams.get("path");
    reason.value += `${reason.value && "; "}${path}:${line.dataset.new || line.dataset.old} `;
    reason.focus();
  });
  change.addEventListener("keydown", (event) => {
    if (event.target.name !== "reason") return;
    if (event.key === "Escape") change.focus({ preventScroll: true });
    if (event.key !== "Enter") return;
    event.preventDefault();
    change.querySelector("button[value=reject]").click();
  });
  change.addEventListener("change", () => {
    const boxes = [...change.querySelectorAll("[name=hunk]")];
    if (!change.querySelector(".what")) return;
    const hunks = (some) => some.reduce((sum, box) => sum + box.value.split(" ").length, 0);
    const checked = hunks(boxes.filter((box) => box.checked));
    change.querySelector("button[value=accept]").disabled = checked === 0;
    change.querySelector(".verdict .problem")?.remove();
    const what = change.querySelector(".what");
    if (boxes.length > 1) what.textContent = checked === Number(what.dataset.of) ? "all hunks" : `${checked} of ${what.dataset.of} hunks`;
  });
}

/** Viewed marks stay in this browser, and fold a change. */
const viewed = document.getElementById("viewed");
function showViewed() {
  const seen = changes.filter((change) => change.classList.contains("folded"));
  for (const change of changes) entry(change)?.classList.toggle("seen", seen.includes(change));
  viewed.textContent = `, ${seen.length} of ${changes.length} viewed`;
  viewed.hidden = changes.length === 0;
}
for (const change of changes) {
  const box = change.querySelector(".viewed input");
  const key = `remora:viewed:${change.id}`;
  box.checked = localStorage.getItem(key) !== null;
  change.classList.toggle("folded", box.checked);
  box.parentElement.hidden = false;
  box.addEventListener("change", (event) => {
    event.stopPropagation();
    change.classList.toggle("folded", box.checked);
    if (box.checked) localStorage.setItem(key, "");
    else localStorage.removeItem(key);
    showViewed();
  });
}
showViewed();

/** Let a button show more lines of the file before or after a hunk. */
function addContext(box, isUp) {
  const edge = () => [...box.querySelectorAll("[data-old]:not(.hunk)")].at(isUp ? 0 : -1).dataset;
  if (!edge().old || !edge().new || (isUp && edge().old === "1")) return;
  const button = Object.assign(document.createElement("button"), { type: "button", className: "context", textContent: isUp ? "↑ more lines" : "↓ more lines" });
  button.addEventListener("click", async () => {
    const [old, now] = [Number(edge().old), Number(edge().new)];
    const from = isUp ? -Math.min(STEP, old - 1) : 1;
    try {
      const found = await load(`${box.dataset.lines}&old=${old + from}&new=${now + from}&count=${isUp ? -from : STEP}`);
      const more = [...found.querySelectorAll("[data-old]:not(.hunk)")];
      const lines = box.querySelectorAll("[data-old]:not(.hunk)");
      if (isUp) lines[0].before(...more);
      else lines[lines.length - 1].after(...more);
      if (more.length < STEP || edge().old === "1") button.remove();
    } catch (error) {
      box.append(problem(error.message));
    }
  });
  box[isUp ? "prepend" : "append"](button);
}
function addContexts({ target }) {
  for (const box of target.querySelectorAll(".hunk-lines")) [true, false].forEach((isUp) => addContext(box, isUp));
}
document.addEventListener("shown", addContexts);

/** Verification may take a while: say so, and take no second verdict. */
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || event.target.method !== "post") return;
  const doing = { reject: "rejecting …", undo: "undoing …" }[button.value] ?? "verifying …";
  setTimeout(() => {
    for (const other of document.querySelectorAll("button")) other.disabled = true;
    button.textContent = doing;
    document.getElementById("progress").textContent = doing;
  });
});

// after a verdict, the address names the change set that comes next, or the one that was refused
const refused = changes.find((change) => change.querySelector(".problem[role=status]"));
if (refused) history.scrollRestoration = "manual"; // the page was loaded again
if (refused) location.replace(`#${refused.id}`);
refused?.querySelector("[name=hunk]")?.dispatchEvent(new Event("change", { bubbles: true }));
const next = changes.findIndex((change) => `#${change.id}` === location.hash);
if (next > 0) {
  changes[next].before(...document.querySelectorAll(".message"));
  select(next);
}
else (changes[0] ?? decided)?.focus({ preventScroll: true });
