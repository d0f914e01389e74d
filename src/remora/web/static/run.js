// The page of a run that is running: its jobs are loaded again when the run's stream has grown.

import { load, showBadges, showPictures } from "/static/parts.js";

const jobs = document.getElementById("jobs");
let isStale = false;
let isLoading = false;

async function refresh() {
  if (isLoading) return;
  isLoading = true;
  while (isStale) {
    isStale = false;
    const fresh = await load(location.href);
    for (const id of ["jobs", "status"]) {
      document.getElementById(id).replaceChildren(...fresh.getElementById(id).childNodes);
    }
  }
  isLoading = false;
}

if (jobs.dataset.live) {
  const source = new EventSource(jobs.dataset.live);
  source.addEventListener("change", () => {
    isStale = true;
    refresh();
  });
  source.addEventListener("end", () => {
    source.close();
    isStale = true;
    refresh();
    showBadges();
    showPictures();
  });
  source.onerror = () => {
    document.getElementById("status").textContent = "disconnected";
  };
} else {
  showBadges();
  showPictures();
}
