/** The dashboard's look. Served as a file, so that the page can forbid every style inside it. */
export const dashboardStyle = `
:root{color-scheme:light dark;--line:#d4d8dd;--soft:#5b6570;--accent:#1f6feb;--bad:#b3261e;--good:#1a7f4b;--paper:#fff;--ink:#1c2126}
@media(prefers-color-scheme:dark){:root{--line:#3a424b;--soft:#9aa5b1;--accent:#6cb0ff;--bad:#ff8a80;--good:#5fd39a;--paper:#14181c;--ink:#e6e9ec}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1.5rem 1rem 4rem;font:1rem/1.45 system-ui,sans-serif;background:var(--paper);color:var(--ink)}
h1{font-size:1.5rem;margin:0 0 1rem}h2{font-size:1.1rem;margin:2rem 0 .6rem}
p{margin:.4rem 0}.soft{color:var(--soft)}.bad{color:var(--bad)}.good{color:var(--good)}
.notice{border:2px solid var(--accent);border-radius:.5rem;padding:.8rem 1rem;margin:1rem 0}
.notice pre{margin:.3rem 0 0;font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere;user-select:all}
.notice code{display:block;font-size:1.05rem;overflow-wrap:anywhere;user-select:all;margin:.4rem 0}
form.new{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;align-items:end}
label{display:block;font-size:.85rem;color:var(--soft)}
input,select,button{font:inherit;padding:.4rem .5rem;border:1px solid var(--line);border-radius:.35rem;background:var(--paper);color:var(--ink);width:100%;min-height:2.4rem}
button{cursor:pointer;width:auto;white-space:nowrap}button.main{background:var(--accent);border-color:var(--accent);color:var(--paper)}button.bad{border-color:var(--bad)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.45rem .6rem .45rem 0;border-bottom:1px solid var(--line);vertical-align:middle}
th{font-size:.85rem;color:var(--soft);font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td form{display:flex;gap:.4rem;align-items:center}td form input{min-width:5rem}
table.days td{white-space:nowrap;padding-right:1rem}
tr.gone td{color:var(--soft)}code{font-family:ui-monospace,monospace;font-size:.92em}
svg{width:100%;height:auto;display:block}svg text{font-size:11px;fill:var(--soft)}svg text.value{text-anchor:end}svg line{stroke:var(--line)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;padding:0;margin:.5rem 0;font-size:.9rem}
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;margin-right:.4rem}
.s0{fill:#1f6feb;background:#1f6feb}.s1{fill:#e07b00;background:#e07b00}.s2{fill:#2a9d62;background:#2a9d62}.s3{fill:#b14fc5;background:#b14fc5}.s4{fill:#c23b4b;background:#c23b4b}.s5{fill:#8a939d;background:#8a939d}
@media(max-width:40rem){svg{overflow:visible}svg text{font-size:20px}table.keys,table.keys tbody,table.keys tr,table.keys td{display:block;width:100%}table.keys thead{display:none}
table.keys tr{border-bottom:1px solid var(--line);padding:.6rem 0}table.keys td{border:0;padding:.15rem 0;text-align:left}
table.keys td[data-name]::before{content:attr(data-name) ": ";color:var(--soft)}
table.days td,table.days th{padding-right:.4rem;font-size:.8rem}table.days td:nth-child(2){white-space:normal;overflow-wrap:anywhere}table.days th:nth-child(3),table.days td:nth-child(3){display:none}}
`
