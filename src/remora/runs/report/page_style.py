"""Style of a report's page, light and dark."""

STYLE = """\
:root {
  color-scheme: light dark;
  --back: #fbfbfa; --card: #ffffff; --text: #1f2328; --dim: #626b75; --line: #dfe2e6;
  --good: #1a7f37; --bad: #b3261e; --wait: #0b62c4; --warn: #8a5a00;
  --add: #e3f6e7; --del: #fdecea; --hunk: #eef3fb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171b; --card: #1b1f24; --text: #dfe3e8; --dim: #98a2ad; --line: #30363d;
    --good: #57c26f; --bad: #ff8a80; --wait: #72b1ff; --warn: #e3b341;
    --add: #173121; --del: #3b1d1d; --hunk: #1c2a3d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 3rem;
  background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .35rem; }
h2 { font-size: 1.05rem; margin: 2.2rem 0 .6rem; }
p { margin: .25rem 0; }
.dim, footer { color: var(--dim); }
.numbers { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.4rem 0 0; padding: 0; list-style: none; }
.numbers li {
  flex: 1 1 8rem; padding: .6rem .9rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 8px; color: var(--dim); font-size: .85rem;
}
.numbers b { display: block; color: var(--text); font-size: 1.45rem; font-weight: 600; line-height: 1.3; }
details, .job {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; overflow: hidden;
}
summary, .job { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline; padding: .5rem .9rem; }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::after { content: "diff"; color: var(--wait); font-size: .85rem; margin-left: auto; }
details[open] summary { border-bottom: 1px solid var(--line); }
.name { font: 600 .9rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.state { font-size: .85rem; font-weight: 600; min-width: 5.5rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); }
.warn { color: var(--warn); } .quiet { color: var(--dim); }
.what { font-size: .85rem; color: var(--dim); overflow-wrap: anywhere; }
.why { flex-basis: 100%; font-size: .85rem; color: var(--warn); overflow-wrap: anywhere; }
pre { margin: 0; padding: .6rem 0; overflow-x: auto; font: .8rem/1.45 ui-monospace, monospace; tab-size: 4; }
pre span { display: block; min-width: max-content; padding: 0 .9rem; }
.add { background: var(--add); } .del { background: var(--del); } .hunk { background: var(--hunk); color: var(--dim); }
.head { color: var(--dim); }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
td, th { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; } td:nth-child(2) { white-space: nowrap; } td:nth-child(-n+2) { font-family: ui-monospace, monospace; }
code { font-family: ui-monospace, monospace; font-size: .85em; overflow-wrap: anywhere; }
footer { margin-top: 2.5rem; font-size: .85rem; }
@media (max-width: 40rem) {
  .state { order: -2; }
  summary::after { order: -1; }
  .name, .what { flex-basis: 100%; }
}
@media print { details, .job { break-inside: avoid; } }
"""
