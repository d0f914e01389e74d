"""Light and dark styles of HTML reports."""

STYLE = """\
:root {
  color-scheme: light dark; --card: #fff; --text: #1f2328; --dim: #626b75; --line: #dfe2e6;
  --good: #1a7f37; --bad: #b3261e; --wait: #0b62c4; --warn: #8a5a00; --add: #e3f6e7; --del: #fdecea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --card: #1b1f24; --text: #dfe3e8; --dim: #98a2ad; --line: #30363d;
    --good: #57c26f; --bad: #ff8a80; --wait: #72b1ff; --warn: #e3b341; --add: #173121; --del: #3b1d1d;
  }
}
html { background: Canvas; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem; color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.05rem; margin-top: 2.2rem; } p { margin: .25rem 0; }
.dim, footer, .head, .hunk, .quiet { color: var(--dim); }
.numbers { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; list-style: none; }
.numbers li { flex: 1 1 8rem; padding: .6rem .9rem; color: var(--dim); }
.numbers b { display: block; color: var(--text); font-size: 1.45rem; }
.numbers li, details, .job { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; }
summary, .job { display: flex; flex-wrap: wrap; gap: .2rem .8rem; padding: .5rem .9rem; overflow-wrap: anywhere; }
summary { cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
summary::after { content: "diff"; color: var(--wait); margin-left: auto; }
.name, .state { font-weight: 600; } .state { min-width: 5.5rem; } .what { color: var(--dim); }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); } .warn, .why { color: var(--warn); }
.why { flex-basis: 100%; }
pre { margin: 0; padding: .6rem 0; overflow-x: auto; border-top: 1px solid var(--line); tab-size: 4; }
pre span { display: block; min-width: max-content; padding: 0 .9rem; }
.add { background: var(--add); } .del { background: var(--del); }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
pre, code, .name, td:nth-child(-n+2) { font-family: ui-monospace, monospace; font-size: .85rem; }
footer { margin-top: 2.5rem; font-size: .85rem; }
@media print { details, .job { break-inside: avoid; } }
"""
