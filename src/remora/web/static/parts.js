// Loads parts of pages. All HTML comes from this server, which escapes what was recorded.

/** Return the HTML of a part as nodes. Throws if the server refuses or is gone. */
export async function load(address, signal) {
  const answer = await fetch(address, { signal });
  const nodes = parse(await answer.text());
  if (!answer.ok) {
    throw new Error(nodes.querySelector("main")?.textContent.trim() || answer.statusText);
  }
  return nodes;
}

/** Return HTML as a fragment. Table rows keep their place, because a template may hold them. */
export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** Return a paragraph that says what went wrong. */
export function problem(text) {
  const note = document.createElement("p");
  note.className = "problem";
  note.setAttribute("role", "alert");
  note.textContent = text;
  return note;
}

/** Load the part of a page that an element names into it. Its summary stays. */
async function fill(box) {
  const address = box.dataset.part;
  const stays = box.querySelector(":scope > summary") ?? "";
  delete box.dataset.part;
  try {
    const nodes = await load(address);
    const same = box.id && nodes.getElementById(box.id); // in a page of its own
    if (box.id && !same) throw new Error("load this page again");
    const { top, bottom } = box.getBoundingClientRect();
    box.replaceChildren(stays, ...(same || nodes).childNodes);
    watch(box);
    if (same && top < 0 && bottom < innerHeight / 2) scrollBy(0, box.getBoundingClientRect().bottom - bottom); // what is read stays
  } catch (error) {
    box.dataset.part = address;
    box.replaceChildren(stays, problem(`This cannot be shown: ${error.message}`));
  }
}

// parts are loaded after the first look, and what is folded when it is opened
document.addEventListener("toggle", ({ target }) => { if (target.open && target.dataset.part) fill(target); }, true);

// copies the text before a button
document.addEventListener("click", async ({ target }) => {
  if (!("copy" in target.dataset)) return;
  await navigator.clipboard.writeText(target.previousElementSibling.textContent);
  target.textContent = "Copied";
});

/** Replace each badge by the server's verdict on the stream. */
export async function showBadges() {
  for (const badge of document.querySelectorAll("[data-badge]")) {
    badge.textContent = "verifying …";
    try {
      badge.replaceChildren(await load(badge.dataset.badge));
      badge.className = "";
    } catch (error) {
      badge.textContent = `not proven: ${error.message}`;
      badge.className = "badge bad";
    }
  }
}

/** Follow server-sent events while the page is visible: browsers allow few connections to a host.
 *
 * `address` returns where they are from now on, `status` shows a lost connection, and `handlers` has
 * a function for the data of each kind of event. The one for `end` is called last.
 */
export function follow(address, status, handlers) {
  const before = [...status.childNodes];
  let source = null;

  function open() {
    source = new EventSource(address());
    for (const [kind, handle] of Object.entries(handlers)) {
      source.addEventListener(kind, (event) => {
        if (kind === "end") close();
        handle(event.data);
      });
    }
    source.onerror = () => { status.textContent = "disconnected"; };
    source.onopen = () => {
      if (status.textContent === "disconnected") status.replaceChildren(...before);
    };
  }

  function close() {
    source.close();
    document.removeEventListener("visibilitychange", change);
  }

  function change() {
    source.close();
    if (!document.hidden) open();
  }

  document.addEventListener("visibilitychange", change);
  if (!document.hidden) open();
  else source = { close() {} };
}

// what is near the screen, one after the other for each kind of element
const filled = {};
const near = new IntersectionObserver((parts) => {
  for (const { target } of parts.filter((part) => part.isIntersecting)) {
    near.unobserve(target);
    filled[target.tagName] = Promise.resolve(filled[target.tagName]).then(() => fill(target));
  }
}, { rootMargin: "50% 0px" });

/** Load the parts within an element when they are near the screen, and tell what is shown. */
function watch(root) {
  for (const part of root.querySelectorAll("[data-part]:not(details, .more a)")) near.observe(part);
  root.dispatchEvent(new Event("shown", { bubbles: true }));
}
document.addEventListener("DOMContentLoaded", () => watch(document)); // after the other modules

/** Show what a verdict or a judgement says until it has ended. */
const working = document.getElementById("working");
if (working) {
  const begun = Number(working.dataset.begun);
  setInterval(() => { document.getElementById("seconds").value = `${Math.round((Date.now() - begun) / 1000)} s`; }, 1000);
  const gates = document.getElementById("gates");
  gates.replaceChildren();
  follow(() => working.dataset.live, working.querySelector("p"), {
    said: (text) => { gates.append(Object.assign(document.createElement("li"), { textContent: text.trim() })); },
    end: () => location.reload(),
  });
}
