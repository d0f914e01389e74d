// Keys and progress of the review. Without this script, the buttons do the same.

const changes = [...document.querySelectorAll(".change-set")];
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
  e: () => changes[current]?.querySelector(".edit").click(),
  u: () => [...document.querySelectorAll("button[value=undo]")].at(-1)?.click(),
  q: () => document.querySelector("a.where").click(),
  "?": () => document.getElementById("keys").scrollIntoView(),
};

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});

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
    const checked = boxes.filter((box) => box.checked).length;
    change.querySelector("button[value=accept]").disabled = checked === 0;
    const what = change.querySelector(".what");
    if (boxes.length > 1) what.textContent = checked === boxes.length ? "all hunks" : `${checked} of ${boxes.length} hunks`;
  });
}

/** Verification may take a while: say so, and take no second verdict. */
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || event.target.method !== "post") return;
  setTimeout(() => {
    for (const other of document.querySelectorAll("button")) other.disabled = true;
    button.textContent = "verifying …";
  });
});

// the message about the last verdict stays in view
if (changes.length) {
  current = 0;
  changes[0].focus({ preventScroll: true });
}
