// The page of a run, and the list of runs: what changes is loaded again when a run's stream has grown.

import { follow, load, showBadges } from "/static/parts.js";

const PARTS = ["status", "totals", "review", "matching", "jobs", "runs", "open"];
const jobs = document.querySelector("#jobs, #runs");
const status = document.getElementById("status");
let isStale = false;
let isLoading = false;

async function refresh() {
  isStale = true;
  if (isLoading) return;
  isLoading = true;
  try {
    while (isStale) {
      isStale = false;
      show(await load(location.href));
    }
  } catch (error) {
    status.textContent = `cannot be read: ${error.message}`;
  } finally {
    isLoading = false;
  }
}

/** Replace what has changed. A link keeps the focus. */
function show(fresh) {
  const focused = document.activeElement?.getAttribute("href");
  for (const id of PARTS) {
    const [shown, now] = [document.getElementById(id), fresh.getElementById(id)];
    if (shown && now && now.innerHTML !== shown.innerHTML) shown.replaceChildren(...now.childNodes);
  }
  if (focused && document.activeElement === document.body) {
    document.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  }
}

if (jobs?.id === "runs") setInterval(() => document.hidden || refresh(), 5000); // new runs, ages

if (jobs?.dataset.live) {
  follow(() => jobs.dataset.live, status, {
    change: refresh,
    end: async () => {
      await refresh();
      showBadges();
    },
  });
} else {
  showBadges();
}
