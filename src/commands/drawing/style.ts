/** How the page looks, by day, by night and on paper. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1d2126; --soft: #5d6670; --rule: #dcdfe3; --accent: #0b57a4;
  --good: #17734a; --bad: #b3261e; --warn: #8a5a00;
  --c0: #0b57a4; --c1: #c2410c; --c2: #17734a; --c3: #7a3ea1; --c4: #a1246b; --c5: #5b6b00; --c6: #00707a; --c7: #6b5a45;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1c2024; --ink: #e8eaed; --soft: #a3acb5; --rule: #353b42; --accent: #7db7f2;
    --good: #6bcb98; --bad: #f28b82; --warn: #e9b65c;
    --c0: #7db7f2; --c1: #f6a06b; --c2: #6bcb98; --c3: #c79be8; --c4: #f08abf; --c5: #c5d36a; --c6: #62cbd6; --c7: #cdb99b;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 0 0 4px; }
h3 { font-size: 14px; margin: 20px 0 6px; color: var(--soft); font-weight: 600; }
p { margin: 4px 0 12px; } h2, p, li { overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.banner { border-left: 4px solid var(--warn); padding: 8px 12px; margin: 16px 0; background: var(--card); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 20px 0; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 12px 14px; }
.tile b { display: block; font-size: 24px; line-height: 1.2; font-variant-numeric: tabular-nums; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 18px 20px; margin: 16px 0; }
.scroll { overflow-x: auto; }
.scroll table { min-width: 720px; } .wide .drawn { min-width: 900px; }
.scroll.end { direction: rtl; } .scroll.end > .drawn { direction: ltr; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--soft); font-size: 13px; overflow-wrap: normal; }
td.n, th.n { text-align: right; white-space: nowrap; }
a { color: var(--accent); }
.up, .entered { color: var(--good); } .down, .left { color: var(--bad); }
td:is(.up, .down, .entered, .left, .word) { white-space: nowrap; } td.list { min-width: 8em; }
svg { display: block; width: 100%; height: auto; }
.grid { stroke: var(--rule); stroke-width: 1; }
.tick { fill: var(--soft); font-size: 11px; }
.band { fill: var(--bad); opacity: 0.14; }
.mark { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 4; }
.event .mark { stroke: var(--good); stroke-width: 1; } .event path { fill: var(--good); }
.note .mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; }
.series path { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.name { font-size: 12px; }
${[0, 1, 2, 3, 4, 5, 6, 7]
  .map(
    (n) =>
      `.c${n} path { stroke: var(--c${n}); } .c${n} circle, .bars.c${n} rect, text.c${n} { fill: var(--c${n}); }`,
  )
  .join('\n')}
.smalls { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(300px, 100%), 1fr)); gap: 14px 20px; }
figure { margin: 0; }
figcaption { font-size: 13px; overflow-wrap: anywhere; }
p.figures { margin: 4px 0 0; font-size: 13px; }
footer { color: var(--soft); font-size: 13px; margin-top: 24px; }
@media print {
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #ccc; --accent: #000;
    --good: #17734a; --bad: #b3261e; --warn: #8a5a00;
    --c0: #0b57a4; --c1: #c2410c; --c2: #17734a; --c3: #7a3ea1; --c4: #a1246b; --c5: #5b6b00; --c6: #00707a; --c7: #6b5a45; }
  body { font-size: 11px; }
  main { max-width: none; padding: 0; }
  section, figure, tr { break-inside: avoid; }
  p.figures { display: none; }
  .scroll { overflow: visible; } .scroll table, .wide .drawn { min-width: 0; }
}
`
