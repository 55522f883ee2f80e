import { html } from 'hono/html'
import type { KeyDay } from '../days.ts'
import type { IssuedKey, ListedKey } from '../keys.ts'
import { drawChart } from './chart.ts'

export interface DashboardView {
  /** Where the dashboard lies, as a path. */
  readonly path: string
  /** Where the service is asked, as its customers type it. */
  readonly address: string
  readonly keys: readonly ListedKey[]
  readonly days: readonly string[]
  readonly used: readonly KeyDay[]
  /** A key that was just made: shown now and never again. */
  readonly issued: IssuedKey | null
  readonly problem: string | null
  /** Makes a form that is sent twice count once. */
  readonly ticket: string
}

/** The whole page: made on the server, for browsers with scripts and without. */
export function renderDashboard(shown: DashboardView) {
  const { path, address, keys, days, used, issued, problem } = shown
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>Search service</title>
      <link rel="stylesheet" href="${path}/style.css" />
      <h1>Search service</h1>
      ${problem === null ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
      ${issued === null ? '' : renderIssued(issued, address)}
      <h2>New key</h2>
      ${renderForm(shown)}
      <h2>Keys</h2>
      ${keys.length === 0 ? html`<p class="soft">No key was made yet.</p>` : renderKeys(path, keys)}
      <h2>Credits of the last ${days.length} days</h2>
      ${used.length === 0 ? html`<p class="soft">Nothing was used yet. Test keys use nothing.</p>` : drawChart(days, used)}
      ${used.length === 0 ? '' : renderDays(used)}
    </html>`
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

function renderForm({ path, ticket }: DashboardView) {
  return html`<form class="new" method="post" action="${path}/keys">
    <input type="hidden" name="ticket" value="${ticket}" />
    <label>Name<input name="name" maxlength="100" placeholder="what it is for" /></label>
    <label
      >Kind<select name="kind">
        <option>test</option>
        <option>live</option>
      </select></label
    >
    <label
      >Plan, for live keys<select name="plan">
        <option>free</option>
        <option>pro</option>
        <option>unlimited</option>
        <option>prepaid</option>
      </select></label
    >
    <label>Credits, if prepaid<input name="credits" inputmode="numeric" pattern="[0-9]*" /></label>
    <label
      >Requests a second<input
        name="rate"
        inputmode="numeric"
        pattern="[0-9]*"
        placeholder="no limit"
    /></label>
    <label
      >Or on account<input
        name="account"
        inputmode="numeric"
        pattern="[0-9]*"
        placeholder="a new one"
    /></label>
    <button class="main">Make key</button>
  </form>`
}

function renderKeys(path: string, keys: readonly ListedKey[]) {
  const rows = keys.toReversed().map((key) => renderKey(path, key))
  return html`<div class="scroll">
    <table class="keys">
      <thead>
        <tr>
          <th>Key</th>
          <th>Account</th>
          <th class="n">Credits left</th>
          <th>Last used</th>
          <th>Name, requests a second</th>
          <th></th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`
}

function renderKey(path: string, one: ListedKey) {
  const { id, key, name, account, plan, credits, rate } = one
  const used = one.last_used_at === null ? 'never' : minute(one.last_used_at)
  const gone = one.revoked_at !== null
  const change = html`<form method="post" action="${path}/keys/${id}/change">
    <input name="name" value="${name}" maxlength="100" aria-label="Name of key ${id}" />
    <input
      name="rate"
      value="${rate ?? ''}"
      inputmode="numeric"
      pattern="[0-9]*"
      placeholder="no limit"
      aria-label="Requests a second of account ${account}"
    />
    <button>Save</button>
  </form>`
  const revoke = html`<form method="post" action="${path}/keys/${id}/revoke">
    <button class="bad">Revoke</button>
  </form>`
  return html`<tr${gone ? html` class="gone"` : ''}>
<td><code>${key}</code></td>
<td data-name="Account">${account}, ${plan}</td>
<td class="n" data-name="Credits left">${credits}</td>
<td data-name="Last used">${used}</td>
<td>${gone ? name : change}</td>
<td>${gone ? 'revoked' : revoke}</td></tr>`
}

function renderDays(used: readonly KeyDay[]) {
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
  return html`<div class="scroll">
    <table class="days">
      <thead>
        <tr>
          <th>Day</th>
          <th>Key</th>
          <th>Kind</th>
          <th class="n">Requests</th>
          <th class="n">Failed</th>
          <th class="n">Credits</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`
}

function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
