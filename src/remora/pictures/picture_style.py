"""Light and dark styles of pictures, for a style element or a style sheet.

The page sets `color-scheme`.
"""

PICTURE_STYLE = """\
.picture {
  --p-text: light-dark(#1f2328, #e6edf3);
  --p-dim: light-dark(#57606a, #98a2ad);
  --p-good: light-dark(#c9ecd2, #17472a);
  --p-good-edge: light-dark(#1a7f37, #57c26f);
  --p-quiet: light-dark(#e1e5ea, #363d47);
  --p-quiet-edge: light-dark(#6e7781, #98a2ad);
  --p-warn: light-dark(#fbe3ad, #53400c);
  --p-warn-edge: light-dark(#8a5a00, #e3b341);
  --p-bad: light-dark(#ffc9c4, #63211d);
  --p-bad-edge: light-dark(#b3261e, #ff8a80);
  --p-conflict: light-dark(#f3d6f5, #56245c);
  --p-conflict-edge: light-dark(#8b2a98, #e38df0);
  --p-wait: light-dark(#cfe3ff, #143d70);
  --p-wait-edge: light-dark(#0b62c4, #72b1ff);
  --p-model: light-dark(#0b62c4, #72b1ff);
  --p-tools: light-dark(#8250df, #c297ff);
  --p-checks: light-dark(#1a7f37, #57c26f);
  margin: 1rem 0;
}
.picture figcaption, .picture .keys { color: var(--p-dim); font-size: .85rem; }
.picture .keys { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: .4rem 0; padding: 0; list-style: none; }
.picture .keys li { display: flex; align-items: center; gap: .35rem; }
.picture .swatch { min-width: 1.1rem; min-height: 1.05rem; padding: 0 .15rem; border: 1px solid; border-radius: 3px; color: var(--p-text); font: .8rem/1.05rem ui-monospace, monospace; text-align: center; }
.picture .drawing { overflow-x: auto; }
.picture svg { display: block; min-width: 56.25rem; width: 100%; height: auto; font: 12px ui-monospace, monospace; }
.picture svg text { fill: var(--p-text); pointer-events: none; }
.picture svg .mark { font-weight: 600; }
.picture svg a:focus-visible { outline: 2px solid var(--p-wait-edge); }
.picture svg a:hover rect { stroke-width: 2; }
.picture .state-good { fill: var(--p-good); stroke: var(--p-good-edge); background: var(--p-good); border-color: var(--p-good-edge); }
.picture .state-quiet { fill: var(--p-quiet); stroke: var(--p-quiet-edge); background: var(--p-quiet); border-color: var(--p-quiet-edge); }
.picture .state-warn { fill: var(--p-warn); stroke: var(--p-warn-edge); background: var(--p-warn); border-color: var(--p-warn-edge); }
.picture .state-bad { fill: var(--p-bad); stroke: var(--p-bad-edge); background: var(--p-bad); border-color: var(--p-bad-edge); }
.picture .state-conflict { fill: var(--p-conflict); stroke: var(--p-conflict-edge); background: var(--p-conflict); border-color: var(--p-conflict-edge); }
.picture .state-wait { fill: var(--p-wait); stroke: var(--p-wait-edge); background: var(--p-wait); border-color: var(--p-wait-edge); }
.picture .activity-model { fill: var(--p-model); background: var(--p-model); }
.picture .activity-tools { fill: var(--p-tools); background: var(--p-tools); }
.picture .activity-checks { fill: var(--p-checks); background: var(--p-checks); }
"""
