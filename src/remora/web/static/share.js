// A share file: turns and tabs are selected, and every recorded line is checked against its hash.
(() => {
  "use strict";
  const GENESIS = "0".repeat(64);
  const TAIL = 75; // ,"hash":"…"} ends each line and is not hashed
  const SHOWN = 20000; // characters of a line
  const STUB = /^\{"turn":\d+,"withheld":\d+,"hash":"[0-9a-f]{64}"\}$/; // of a line that was left out
  const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu; // as in remora/text.py
  const streams = new Map();
  // those of the prototype, because names of elements replace those of the document
  const all = (selector) => [...Document.prototype.querySelectorAll.call(document, selector)];
  const byId = (id) => Document.prototype.getElementById.call(document, id);
  const create = (name) => Document.prototype.createElement.call(document, name);
  const views = all("[data-view]");

  // --- the recorded lines ---

  /** Return the bytes of base64 text. Characters that were damaged become others. */
  function fromBase64(text) {
    const clean = text.replace(/[^A-Za-z0-9+/]/g, (found) => (found === "=" ? "" : "A"));
    const whole = atob(clean.slice(0, clean.length % 4 === 1 ? -1 : undefined));
    const bytes = new Uint8Array(whole.length);
    for (let at = 0; at < whole.length; at++) bytes[at] = whole.charCodeAt(at);
    return bytes;
  }

  /** Decompress, `step` bytes at a time. With small steps, what comes before damage is kept. */
  async function unpack(packed, step) {
    const gzip = new DecompressionStream("gzip");
    const parts = [];
    let problem = "";
    const fail = (error) => { problem ||= error.message || "damaged"; };
    const reading = (async () => {
      const reader = gzip.readable.getReader();
      for (let part; !(part = await reader.read()).done;) parts.push(part.value);
    })().catch(fail);
    const writer = gzip.writable.getWriter();
    for (let at = 0; at < packed.length && !problem; at += step) {
      await writer.write(packed.subarray(at, at + step)).catch(fail);
    }
    await writer.close().catch(fail);
    await reading;
    return { bytes: new Uint8Array(await new Blob(parts).arrayBuffer()), problem };
  }

  class Stream {
    constructor(element) {
      this.name = element.dataset.stream;
      this.ofRun = "run" in element.dataset;
      this.count = Number(element.dataset.lines);
      this.head = element.dataset.head ?? "";
      this.found = element.dataset; // what was wrong when the file was written
      this.packed = element.textContent;
      this.lines = []; // {start, end, turn, event, stated, isBad}
      this.problems = []; // {line, detail}
      this.declared = new Set((element.dataset.withheld ?? "").split(" ").map(Number));
      this.withheld = []; // numbers of the lines that were left out, which cannot be checked
      this.view = this.ofRun || this.name !== "run" ? views.find((view) => view.id === (this.ofRun ? "run" : this.name)) : null;
    }

    async read() {
      const packed = fromBase64(this.packed);
      let found = await unpack(packed, 1 << 16);
      if (found.problem) found = await unpack(packed, 16);
      this.packed = null;
      this.bytes = found.bytes;
      let turn = 0;
      for (let start = 0; start < this.bytes.length;) {
        const end = this.bytes.indexOf(10, start);
        const line = { start, end: end < 0 ? this.bytes.length : end, isWhole: end >= 0 };
        line.isWithheld = line.end - start < 200 && STUB.test(this.text(line));
        line.event = parsed(this.text(line));
        const stated = /,"hash":"([0-9a-f]{64})"\}$/.exec(latin(this.bytes.subarray(Math.max(start, line.end - TAIL), line.end)));
        line.stated = stated ? stated[1] : "";
        turn = Math.max(turn, Number.isInteger(line.event?.turn) ? line.event.turn : 0);
        line.turn = turn;
        this.lines.push(line);
        start = line.end + 1;
      }
      await this.check(found.problem);
    }

    /** Compute the hash of each line from the line before it. */
    async check(damage) {
      const whole = this.lines.filter((line) => line.isWhole);
      for (let at = 0; at < whole.length; at += 256) {
        await Promise.all(whole.slice(at, at + 256).map(async (line, place) => {
          line.computed = await this.hash(line, whole[at + place - 1]?.stated ?? GENESIS);
        }));
      }
      let isNamed = false;
      for (const [place, line] of whole.entries()) {
        if (line.isWithheld !== this.declared.has(place + 1)) {
          this.add(place + 1, line.isWithheld ? "the line was removed after the file was written" : "the line was not in the file when it was written");
          continue;
        }
        if (line.isWithheld) {
          this.withheld.push(place + 1);
          line.computed = line.stated;
          continue;
        }
        const before = whole[place - 1];
        if (line.computed !== line.stated && before?.isBad) {
          line.computed = await this.hash(line, before.computed); // only the hash was changed there
        }
        if (line.computed !== line.stated || line.stated === "") this.add(place + 1, "the line does not match its hash");
        else if (line.event && line.event.seq !== place) this.add(place + 1, "the line has another number");
        else if (line.event && !isNamed && !this.owns(line.event, place)) this.add(place + 1, "the line is of another stream");
        isNamed ||= Boolean(line.event);
      }
      const torn = this.lines.find((line) => !line.isWhole);
      if (damage) this.add(Math.max(1, this.lines.length), "the compressed lines are damaged from here on");
      else if (torn) this.add(this.lines.length, "the line has no end");
      else if (!this.problems.length && (whole.length !== this.count || whole.at(-1)?.stated !== this.head)) {
        this.add(Math.max(1, Math.min(whole.length, this.count)), `the file was written with ${plural(this.count, "line")}, and has ${whole.length} now`);
      }
    }

    /** Return true if the first event of the stream has its name. That of a run has no agent. */
    owns(event, place) {
      return this.ofRun ? event.run_id === this.name && !(event.agent_id && place === 0) : event.agent_id === this.name;
    }

    async hash(line, previous) {
      const body = this.bytes.subarray(line.start, Math.max(line.start, line.end - TAIL));
      const input = new Uint8Array(64 + body.length);
      for (let at = 0; at < 64; at++) input[at] = previous.charCodeAt(at);
      input.set(body, 64);
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", input));
      return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    }

    add(line, detail) {
      this.problems.push({ line, detail });
      if (this.lines[line - 1]) this.lines[line - 1].isBad = true;
    }

    text(line) {
      return new TextDecoder().decode(this.bytes.subarray(line.start, line.end));
    }
  }

  function parsed(text) {
    try {
      const value = JSON.parse(text);
      return value && typeof value === "object" ? value : null;
    } catch {
      return null;
    }
  }

  /** Return the beginning of an event's data. */
  function beginning(text) {
    const data = text.slice(Math.max(0, text.indexOf('"data":') + 7));
    return data.length > 100 ? `${data.slice(0, 100)} …` : data;
  }

  const latin = (bytes) => String.fromCharCode(...bytes);
  const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

  /** Refuse streams of one name, and several streams of the run. */
  function checkNames(read) {
    for (const stream of read) {
      const isAlone = read.every((other) => other === stream || (other.name !== stream.name && !(other.ofRun && stream.ofRun)));
      if (!isAlone) stream.add(1, "the file has another stream in its place");
    }
    const view = views.find((each) => each.id === "run");
    if (view && !read.some((stream) => stream.ofRun)) say({ name: "", view }, "not what was recorded: the stream of the run is missing", "bad");
  }

  /** Compare the heads of the agents with those that a run's own stream has. */
  function checkAnchors(run, read) {
    const heads = new Map();
    run.lines.forEach((line, place) => {
      if (line.event?.type === "job_start") heads.delete(line.event.data?.agent_id);
      if (line.event?.type === "job_end") heads.set(line.event.data?.agent_id, { ...line.event.data?.head, line: place + 1 });
    });
    for (const stream of read) {
      const head = heads.get(stream.name);
      if (!head) continue;
      const last = stream.lines.filter((line) => line.isWhole).at(-1);
      const count = stream.lines.filter((line) => line.isWhole).length;
      if (head.count === count && head.hash === last?.stated) stream.anchor = run.problems.length || run.withheld.at(-1) > head.line ? 0 : head.line;
      else stream.add(Math.max(1, Math.min(count, head.count)), `line ${head.line} of the run's stream has another head`);
    }
  }

  // --- what is shown of the check ---

  function element(name, text = "", attributes = {}) {
    const made = create(name);
    made.append(...visible(text));
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  /** Return text as nodes. Hidden characters are shown as escapes, such as `\u202e`. */
  function visible(text) {
    const nodes = [];
    let from = 0;
    for (const found of text.matchAll(HIDDEN)) {
      const escape = create("span");
      const code = found[0].codePointAt(0).toString(16);
      escape.className = "hidden";
      const [letter, digits] = code.length > 4 ? ["U", 8] : code.length > 2 ? ["u", 4] : ["x", 2];
      escape.textContent = `\\${letter}${code.padStart(digits, "0")}`;
      nodes.push(text.slice(from, found.index), escape);
      from = found.index + found[0].length;
    }
    nodes.push(text.slice(from));
    return nodes;
  }

  function showBadge(stream) {
    if (!stream.problems.length && stream.found.problem) stream.add(Number(stream.found.problem), stream.found.detail);
    const [first] = stream.problems.sort((one, other) => one.line - other.line);
    const withheld = stream.withheld.length;
    let text = `not what was recorded: line ${first?.line}: ${first?.detail}`;
    if (!first) {
      const anchor = stream.anchor ? ` · anchored in line ${stream.anchor} of the run` : "";
      const checked = withheld ? `${stream.count - withheld} of ${plural(stream.count, "line")}` : plural(stream.count, "line");
      text = `${checked} checked in this browser${withheld ? ` · ${leftOut(stream)}` : ""} · head ${stream.head.slice(0, 12)}${anchor}`;
      showHead(stream);
    } else if (stream.problems.length > 1) {
      text += ` and ${plural(stream.problems.length - 1, "more problem")}`;
    }
    say(stream, text, first ? "bad" : withheld ? "part" : "good");
    for (const problem of stream.problems) {
      const turn = stream.lines[problem.line - 1]?.turn;
      const row = byId(`${stream.name}-row-${turn}`);
      if (row && !row.classList.contains("tampered")) {
        row.classList.add("tampered");
        row.querySelector(".call")?.append(element("div", `line ${problem.line} is not what was recorded`, { class: "cause" }));
      }
    }
  }

  /** Return which lines were left out, and which lines the head does not prove therefore. */
  function leftOut({ withheld }) {
    const numbers = withheld.slice(0, 10).join(", ") + (withheld.length > 10 ? ", …" : "");
    const last = withheld.at(-1);
    const before = last > withheld.length ? `; lines before ${last} are not bound to the head` : "";
    return `left out: line${withheld.length === 1 ? "" : "s"} ${numbers}${before}`;
  }

  /** Show the head that was computed, in place of the one that the file states. */
  function showHead(stream) {
    const list = byId(`${stream.name}-proof`)?.querySelector("dl");
    const head = `${stream.ofRun ? "run" : "agent"} ${stream.name}  head ${stream.count} ${stream.head}`;
    list?.replaceChildren(
      element("dt", "head"), element("dd", `${plural(stream.count, "line")}, ${stream.head}`),
      element("dt", "compare with"), element("dd", `the head that remora trace verify -v prints where the stream was recorded: ${head}`),
    );
  }

  /** Show the result of a stream in its own view and section, whatever name the badges there have. */
  function say({ name, view }, text, kind) {
    const proof = byId(`${name}-proof`)?.querySelector("[data-proof]");
    proof?.replaceChildren(element("span", text, { class: `badge ${kind}`, role: kind === "bad" ? "alert" : "status" }));
    const badge = view?.querySelector("[data-badge]");
    if (badge) {
      badge.replaceChildren(...visible(text));
      badge.className = `badge ${kind}`;
    }
  }

  /** Replace what the file says of its own proof by a text. */
  function reset(text = "not checked") {
    for (const badge of all(".badge, [data-badge]")) {
      badge.replaceChildren(...visible(text));
      badge.className = "badge wait";
    }
  }

  async function checkAll() {
    reset();
    const found = all("script[data-stream]");
    if (typeof DecompressionStream === "undefined" || !globalThis.crypto?.subtle) {
      for (const each of found) say(new Stream(each), "this browser cannot check the lines", "bad");
      return;
    }
    const read = [];
    for (const each of found) {
      const stream = new Stream(each);
      say(stream, "checking …", "wait");
      await stream.read();
      read.push(stream);
      streams.set(stream.name, stream);
      show();
    }
    checkNames(read);
    for (const stream of read) if (stream.ofRun) checkAnchors(stream, read);
    read.forEach(showBadge);
  }

  // --- the selected agent, turn and tab, which are the fragment of the address ---

  function fragment() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return ""; // the address was edited
    }
  }

  function selected() {
    const [, name, turn, tab] = /^(.+?)-t(\d+)(?:-([a-z]+))?$/.exec(fragment()) ?? [, fragment()];
    const view = views.find((each) => each.id === name) ?? current ?? views[0];
    return { view, turn: Math.min(Number(turn ?? view.dataset.turn), lastTurn(view)), tab: tab ?? view.dataset.tab };
  }

  let current = null;

  /** The file may state fewer turns than its lines have. */
  function lastTurn(view) {
    return Math.max(Number(view.dataset.last), streams.get(view.id)?.lines.at(-1)?.turn ?? 0);
  }

  function show() {
    const { view, turn, tab } = selected();
    for (const each of views) each.hidden = each !== view;
    current = view;
    if (view.id === "run") return;
    view.dataset.turn = turn;
    view.dataset.tab = tab;
    Object.assign(view.querySelector("input[type=range]"), { max: lastTurn(view), value: turn });
    view.querySelector(".tabs .which").textContent = `turn ${turn}`;
    for (const link of view.querySelectorAll(".tabs a")) {
      link.hash = `#${view.id}-t${turn}-${link.dataset.tab}`;
      if (link.dataset.tab === tab) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    view.querySelector("tr[aria-current]")?.removeAttribute("aria-current");
    const row = byId(`${view.id}-row-${turn}`);
    row?.setAttribute("aria-current", "true");
    if (row) scrollTo(row);
    let isWhole = tab === "why" || tab === "events";
    for (const each of view.querySelectorAll("details.one-turn")) {
      const isShown = Number(each.dataset.turn) === turn && !isWhole;
      each.hidden = !isShown;
      if (!isShown) continue;
      isWhole = true;
      each.open = true;
      for (const section of each.querySelectorAll(".tab")) section.hidden = section.dataset.tab !== tab;
    }
    view.querySelector(".tab.why").hidden = tab !== "why";
    view.querySelector(".not-whole").hidden = isWhole;
    showEvents(view, turn, tab);
  }

  /** Scroll the list, and not the page, until a row is in view. */
  function scrollTo(row) {
    const list = row.closest(".turns");
    const head = row.closest("table").tHead.offsetHeight;
    const bottom = row.offsetTop + row.offsetHeight - list.clientHeight;
    if (list.scrollTop < bottom) {
      const first = [...list.querySelectorAll("tbody tr")].find((each) => each.offsetTop - head >= bottom);
      const [table, start] = [row.closest("table"), (first ?? row).offsetTop - head];
      table.style.marginBottom = `${Math.max(0, start + list.clientHeight - table.offsetHeight)}px`;
      list.scrollTop = start;
    }
    list.scrollTop = Math.min(list.scrollTop, row.offsetTop - head);
  }

  function showEvents(view, turn, tab) {
    const panel = view.querySelector(".tab.events");
    panel.hidden = tab !== "events";
    const stream = streams.get(view.id);
    if (panel.hidden || !stream) return;
    const table = element("table", "", { class: "list" });
    const head = table.createTHead().insertRow();
    for (const name of ["event", "type", "content", "time (UTC)", "size"]) head.append(element("th", name, { scope: "col" }));
    const body = table.createTBody();
    stream.lines.forEach((line, place) => {
      if (line.turn === turn) body.append(eventRow(stream, line, place));
    });
    panel.replaceChildren(table);
  }

  function eventRow(stream, line, number) {
    const row = element("tr", "", line.isBad ? { class: "tampered" } : {});
    const details = element("details");
    let text = stream.text(line);
    const says = line.isBad ? `line ${number + 1} is not what was recorded` : line.isWithheld ? "left out, because it has a secret" : beginning(text);
    if (text.length > SHOWN) text = `${text.slice(0, SHOWN)} … and ${plural(text.length - SHOWN, "more character")}`;
    else if (line.event) text = indented(text);
    details.append(element("summary", says), element("pre", text));
    const cell = element("td");
    cell.append(details);
    row.append(
      element("td", String(number), { class: "n" }),
      element("td", String(line.event?.type ?? (line.isWithheld ? "" : "not an event"))),
      cell,
      element("td", String(line.event?.timestamp ?? "").slice(11, 23), { class: "time" }),
      element("td", (line.end - line.start).toLocaleString("en"), { class: "n" }),
    );
    return row;
  }

  /** Return JSON with line breaks. Nothing else changes, so what is read is what was checked. */
  function indented(json) {
    let depth = 0;
    return json.replace(/"(?:[^"\\]|\\.)*"|[{[]|[}\]]|,|:/g, (token, at) => {
      const close = { "{": "}", "[": "]" }[token];
      if (close) return json[at + 1] === close ? token : `${token}\n${"  ".repeat(++depth)}`;
      if (token === "}" || token === "]") return "{[".includes(json[at - 1]) ? token : `\n${"  ".repeat(--depth)}${token}`;
      if (token === ",") return `,\n${"  ".repeat(depth)}`;
      return token === ":" ? ": " : token;
    });
  }

  /** Select a turn. One step of many, by a key or the slider, replaces the last one in the history. */
  function go(turn, isStep) {
    const { view, tab } = selected();
    const hash = `#${view.id}-t${turn}-${tab}`;
    if (isStep) location.replace(hash);
    else location.hash = hash;
  }

  document.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-turn]");
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(Number(row.dataset.turn), false);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("input[type=range]")) go(Number(event.target.value), true);
  });
  document.addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1 }[event.key];
    if (!step || current.id === "run" || event.ctrlKey || event.metaKey || event.altKey) return;
    const { view, turn } = selected(); // what is shown may be one key behind
    const next = Math.min(lastTurn(view), Math.max(0, turn + step));
    if (next !== turn) go(next, true);
  });
  addEventListener("hashchange", show);
  // what follows this script is part of the file
  addEventListener("DOMContentLoaded", () => {
    checkAll().catch((error) => reset(`not checked: ${error.message}`));
  });
  reset();

  document.documentElement.classList.add("with-script");
  // these are places to jump to for browsers without scripts
  for (const each of all(".one-turn, .tab")) each.removeAttribute("id");
  show();
  window.scrollTo(0, 0);
})();
