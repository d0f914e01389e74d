// Keys and progress of the review. All but the keys also works without this script.

const changes = [...document.querySelectorAll(".change-set")];
const decided = document.querySelector(".decided");
let current = -1;

function select(place) {
  if (!changes.length) return;
  current = Math.min(changes.length - 1, Math.max(0, place));
  changes[current].focus();
  changes[current].scrollIntoView({ block: "nearest" });
}

function press(verb) {
  changes[current]?.querySelector(`button[value=${verb}]`)?.click();
}

const keys = {
  j: () => select(current + 1),
  k: () => select(current - 1),
  y: () => press("accept"),
  n: () => changes[current]?.querySelector("[name=reason]").focus(),
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

// single letters must not decide anything while the focus is elsewhere
document.addEventListener("keydown", (event) => {
  if (!event.target.closest(".change-set, .decided")) return;
  if (event.target.matches("input:not([type=checkbox]), select")) return;
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  if (event.repeat && !"jk".includes(event.key)) return;
  keys[event.key]();
});

decided?.addEventListener("focusin", () => { current = -1; });
for (const [place, change] of changes.entries()) {
  change.addEventListener("focusin", () => { current = place; });
  const reason = change.querySelector("[name=reason]");
  reason.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    change.querySelector("button[value=reject]").click();
  });
  change.addEventListener("change", () => {
    const boxes = [...change.querySelectorAll("[name=hunk]")];
    const hunks = (some) => some.reduce((sum, box) => sum + box.value.split(" ").length, 0);
    const checked = hunks(boxes.filter((box) => box.checked));
    change.querySelector("button[value=accept]").disabled = checked === 0;
    const what = change.querySelector(".what");
    if (boxes.length > 1) what.textContent = checked === hunks(boxes) ? "all hunks" : `${checked} of ${hunks(boxes)} hunks`;
  });
}

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

// after a verdict, the address names the change set that comes next
const next = changes.findIndex((change) => `#${change.id}` === location.hash);
if (next > 0) select(next);
else (changes[0] ?? decided)?.focus({ preventScroll: true });
