// Renders the dashboard and the page of a customer's usage, with their style sheet.

import { html } from 'hono/html'
import { formatInstant } from '../../base/time/zone.ts'
import {
  type FoundKey,
  type IssuedKey,
  isLow,
  isRevoked,
  type KeyDay,
  keyKinds,
  type ListedKey,
  planNames,
} from '../keys.ts'

interface PageView {
  /** Relative address of the service. It is relative because a proxy may add a prefix to all paths. */
  readonly root: string
  /** Reason why a form was rejected. */
  readonly problem?: string | undefined
}

interface DashboardView extends PageView {
  /** Address of the service as clients type it. */
  readonly address: string
  readonly keys: readonly ListedKey[]
  /** Text that the shown keys contain, and the number of the page of keys. */
  readonly shown: { readonly word: string; readonly nth: number }
  readonly used: readonly KeyDay[]
  /** The key is shown only once. */
  readonly issued?: IssuedKey | undefined
  /** Identifies the form, so that a form that is sent twice takes effect only once. */
  readonly ticket: string
}

export const shownDays = 30

export function renderDashboard(view: DashboardView) {
  const { root, address, keys, used, issued, ticket } = view
  return renderPage(
    view,
    html`${issued === undefined ? '' : renderIssued(issued, address)} ${renderLow(keys)}
      <h2>New key</h2>
      <form class="new" method="post" action="${root}dashboard/keys">
        <input type="hidden" name="ticket" value="${ticket}" />
        <label>Name<input name="name" maxlength="100" placeholder="what it is for" /></label>
        ${choice('Kind', 'kind', keyKinds.toReversed())}
        ${choice('Plan, for live keys', 'plan', [...planNames, 'prepaid'])}
        <label>Credits, if prepaid${numberField('credits')}</label>
        <label>Requests a second${numberField('rate', 'no limit')}</label>
        <label>Or on account${numberField('account', 'a new one')}</label>
        <button class="main">Create key</button>
      </form>
      <h2>Keys</h2>
      ${keys.length === 0 ? html`<p class="soft">No keys yet.</p>` : renderKeys(view)}
      ${renderUsed(used)}`,
  )
}

interface UsageView extends PageView {
  /** Account of the entered key; absent until a valid key was entered. */
  readonly account?: { readonly key: FoundKey; readonly used: readonly KeyDay[] }
}

/** Renders the usage of a customer's account, or the form that asks for the key. */
export function renderUsage(view: UsageView) {
  const { root, account } = view
  const form = html`<h2>Usage of your account</h2>
    <form class="new" method="post" action="${root}usage">
      <label>API key<input name="key" type="password" autocomplete="off" required /></label>
      <button class="main">Show usage</button>
    </form>`
  const content =
    account === undefined ? form : html`${renderAccount(account.key)} ${renderUsed(account.used)}`
  return renderPage(view, content)
}

function renderAccount({ plan, quota, remaining: credits, renewsAt }: FoundKey) {
  const renewal = renewsAt === null ? '' : `, renewed on ${renewsAt.toISOString().slice(0, 10)}`
  return html`${isLow({ credits, quota }) ? html`<p class="notice bad" role="status">Less than a tenth of your credits is left.</p>` : ''}
    <p>Plan ${plan}: ${credits} of ${quota} credits left${renewal}.</p>`
}

function renderPage({ root, problem }: PageView, content: ReturnType<typeof html>) {
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>Search service</title>
      <link rel="stylesheet" href="${root}usage/style.css" />
      <h1>Search service</h1>
      ${problem === undefined ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
      ${content}
    </html>`
}

function renderUsed(used: readonly KeyDay[]) {
  const heads = ['Day', 'Key', 'Kind', 'Requests', 'Failed', 'Credits']
  const rows = used.toReversed().map(
    ({ day, key, name, kind, requests, failures, credits }) =>
      html`<tr>
        <td>${day}</td>
        <td><code>${key}</code> ${name}</td>
        <td>${kind}</td>
        <td class="n">${requests}</td>
        <td class="n">${failures}</td>
        <td class="n">${credits}</td>
      </tr>`,
  )
  return html`<h2>Credits of the last ${shownDays} days</h2>
    ${used.length === 0 ? html`<p class="soft">Nothing was used yet. Test keys use nothing.</p>` : renderTable('days', heads, rows)}`
}

/** Names the accounts in use that have few credits left. */
function renderLow(keys: readonly ListedKey[]) {
  const low = keys.filter((key) => key.kind === 'live' && !isRevoked(key) && isLow(key))
  const items = [...new Map(low.map((key) => [key.account, key])).values()].map(
    ({ account, credits, quota }) => html`<li>Account ${account}: ${credits} of ${quota}</li>`,
  )
  if (items.length === 0) return ''
  return html`<div class="notice bad" role="status">
    Less than a tenth of the credits is left:
    <ul>
      ${items}
    </ul>
  </div>`
}

const keysOnPage = 50

/** Renders one page of the keys that contain the wanted text, newest first. */
function renderKeys({ root, keys, shown: { word, nth } }: DashboardView) {
  const path = `${root}dashboard`
  const found = keys
    .filter(({ id, key, name, account }) =>
      `${id} ${key} ${name} account ${account}`.toLowerCase().includes(word.toLowerCase()),
    )
    .toReversed()
  const pages = Math.max(1, Math.ceil(found.length / keysOnPage))
  const current = Math.min(Math.max(1, nth), pages)
  const rows = found.slice((current - 1) * keysOnPage, current * keysOnPage)
  const link = (to: number, text: string) =>
    to < 1 || to > pages
      ? ''
      : html`<a href="${path}?${new URLSearchParams({ q: word, page: String(to) })}">${text}</a>`
  return html`<form class="find" method="get" action="${path}">
      <input
        name="q"
        value="${word}"
        aria-label="Find keys"
        placeholder="name, account 3, last characters"
      />
      <button>Find</button>
    </form>
    <p class="soft">
      ${found.length} of ${keys.length} keys, page ${current} of ${pages}
      ${link(current - 1, 'previous page')} ${link(current + 1, 'next page')}
    </p>
    ${renderTable(
      'keys',
      keyHeads,
      rows.map((key) => renderKey(path, key)),
    )}`
}

function renderIssued({ key, kind, credits, account }: IssuedKey, address: string) {
  const line = `curl -H "Authorization: Bearer ${key}" "${address}/v1/search?q=css+grid+layout"`
  return html`<div class="notice" role="status">
    <strong>Your new ${kind} key. It is shown once: copy it now.</strong>
    <code>${key}</code>
    <span class="soft">Account ${account}, ${credits} credits. To try it:</span>
    <pre>${line}</pre>
  </div>`
}

function choice(label: string, name: string, values: readonly string[]) {
  const options = values.map((value) => html`<option>${value}</option>`)
  return html`<label
    >${label}<select name="${name}">
      ${options}
    </select></label
  >`
}

function numberField(
  name: string,
  hint = '',
  { value = null, label = '' }: { value?: number | null; label?: string } = {},
) {
  return html`<input
    name="${name}"
    value="${value ?? ''}"
    inputmode="numeric"
    pattern="[0-9]*"
    placeholder="${hint}"
    ${label === '' ? '' : html`aria-label="${label}"`}
  />`
}

const keyHeads = ['Key', 'Account', 'Credits left', 'Last used', 'Name, requests a second', '']
const numbers: ReadonlySet<string> = new Set(['Credits left', 'Requests', 'Failed', 'Credits'])

function renderTable(
  kind: string,
  heads: readonly string[],
  rows: readonly ReturnType<typeof html>[],
) {
  const columns = heads.map(
    (head) => html`<th${numbers.has(head) ? html` class="n"` : ''}>${head}</th>`,
  )
  return html`<div class="scroll">
    <table class="${kind}">
      <thead>
        <tr>
          ${columns}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`
}

function renderKey(path: string, one: ListedKey) {
  const { id, key, name, account, plan, credits, rate, revoked_at: until } = one
  const used = one.last_used_at?.toISOString().slice(0, 16).replace('T', ' ')
  const gone = isRevoked(one)
  const label = `Requests a second of account ${account}`
  const change = html`<form method="post" action="${path}/keys/${id}/change">
    <input name="name" value="${name}" maxlength="100" aria-label="Name of key ${id}" />
    ${numberField('rate', 'no limit', { value: rate, label })}
    <button>Save</button>
  </form>`
  return html`<tr${gone ? html` class="gone"` : ''}>
<td><code>${key}</code></td>
<td data-name="Account">${account}, ${plan}</td>
<td class="n" data-name="Credits left">${credits}</td>
<td data-name="Last used">${used === undefined ? 'never' : `${used} UTC`}</td>
<td>${gone ? name : change}</td>
<td>${gone ? 'revoked' : html`${until === null ? '' : `valid until ${formatInstant(until)}`} ${renderMore(path, one)}`}</td></tr>`
}

/** Renders the forms for rarer changes of a key and its account. Revoking comes last, and must be confirmed. */
function renderMore(path: string, { id, kind, account, plan, revoked_at: until }: ListedKey) {
  const rotate = html`<form method="post" action="${path}/keys/${id}/rotate">
    ${numberField('grace', '24', { label: `Hours for which key ${id} stays valid` })}
    <button>Replace</button>
  </form>`
  const topUp = html`<form method="post" action="${path}/accounts/${account}/top-up">
    ${numberField('credits', 'credits', { label: `Credits to add to account ${account}` })}
    <button>Top up</button>
  </form>`
  const plans = html`<form method="post" action="${path}/accounts/${account}/plan">
    ${choice(`Plan of account ${account}`, 'plan', planNames)}
    <button>Change plan</button>
  </form>`
  const revoke = html`<form method="post" action="${path}/keys/${id}/revoke">
    <label
      ><input type="checkbox" name="sure" value="yes" required />refuse this key for good</label
    >
    <button class="bad">Revoke</button>
  </form>`
  return html`<details>
    <summary aria-label="More about key ${id}">more</summary>
    ${until === null ? rotate : ''} ${kind === 'live' && plan === 'prepaid' ? topUp : ''}
    ${kind === 'live' ? plans : ''} ${revoke}
  </details>`
}

// Browsers load the style sheet from a separate address, so that the content security policy can forbid inline styles.
export const dashboardStyle = `
:root{color-scheme:light dark;--line:#d4d8dd;--soft:#5b6570;--accent:#1f6feb;--bad:#b3261e;--paper:#fff;--ink:#1c2126}
@media(prefers-color-scheme:dark){:root{--line:#3a424b;--soft:#9aa5b1;--accent:#6cb0ff;--bad:#ff8a80;--paper:#14181c;--ink:#e6e9ec}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1.5rem 1rem 4rem;font:1rem/1.45 system-ui,sans-serif;background:var(--paper);color:var(--ink)}
h1{font-size:1.5rem;margin:0 0 1rem}h2{font-size:1.1rem;margin:2rem 0 .6rem}
p{margin:.4rem 0}.soft{color:var(--soft)}.bad{color:var(--bad)}
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
form.find{display:flex;gap:.4rem;max-width:26rem}summary{cursor:pointer}details form{margin:.4rem 0}input[type=checkbox]{width:auto;min-height:0}
td form{display:flex;gap:.4rem;align-items:center}td form input{min-width:5rem}
table.days td{white-space:nowrap;padding-right:1rem}
tr.gone td{color:var(--soft)}code{font-family:ui-monospace,monospace;font-size:.92em}
@media(max-width:40rem){table.keys,table.keys tbody,table.keys tr,table.keys td{display:block;width:100%}table.keys thead{display:none}
table.keys tr{border-bottom:1px solid var(--line);padding:.6rem 0}table.keys td{border:0;padding:.15rem 0;text-align:left}
table.keys td[data-name]::before{content:attr(data-name) ": ";color:var(--soft)}
table.days td,table.days th{padding-right:.4rem;font-size:.8rem}table.days td:nth-child(2){white-space:normal;overflow-wrap:anywhere}table.days th:nth-child(3),table.days td:nth-child(3){display:none}}
`
