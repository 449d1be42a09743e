"""The style sheet of a report. The page's content-security policy names its digest, so no other style applies."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2230; --soft: #5a6473; --line: #d8dde6; --paper: #ffffff; --tint: #f4f6fa;
  --good: #0b6b43; --bad: #a3262a; --wait: #7a5200; --mark: #23508f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaf0; --soft: #a5aebd; --line: #38414f; --paper: #14181f;
  --tint: #1d232d; --good: #5fd39b; --bad: #ff8f8a; --wait: #f0c26a; --mark: #8fb8f5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
main { max-width: 66rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .7rem; padding-top: .6rem; border-top: 2px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p, ul { margin: .4rem 0 .8rem; max-width: 46rem; }
.soft, figcaption { color: var(--soft); font-size: .88rem; text-align: left; }
code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: .8rem; padding: 0; list-style: none;
  max-width: none; }
.card { background: var(--tint); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; margin: 0; }
.card p { margin: .35rem 0 0; }
.status { font-weight: 700; display: inline-block; } .status::first-letter, .why::first-letter { text-transform: uppercase; }
.supported, .open { color: var(--good); } .contradicted, .closed { color: var(--bad); }
.partly, .not_shown, .not_estimable, .unmeasured, .exploratory, .withheld { color: var(--wait); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .2rem 0 .6rem; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { max-width: 26rem; overflow-wrap: break-word; padding: .3rem .65rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.n, th.n { text-align: right; } td.n { white-space: nowrap; } th { vertical-align: bottom; } td:last-child:not(.n) { min-width: 11rem; }
figure { margin: .4rem 0 1.2rem; } figcaption { max-width: 46rem; } svg { width: 100%; min-width: 34rem; height: auto; max-width: 46rem; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; paint-order: stroke; stroke: var(--paper);
  stroke-width: 4px; } svg .tick { fill: var(--soft); font-size: 11px; }
svg .axis { stroke: var(--line); } svg .none { stroke: var(--soft); stroke-dasharray: 4 3; }
svg .reach { stroke: var(--mark); stroke-width: 2; } svg .point { fill: var(--mark); }
@media print { .card { break-inside: avoid; } main { max-width: none; } }
"""
