// Renders the dashboard, the customers' usage page and the help pages.

import { html } from 'hono/html'
import { npmRun } from '../../base/cli/commands.ts'
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
import { helpOf, reasons, type RefusalStatus, statusCode } from '../refusal.ts'

type Html = ReturnType<typeof html>

interface PageView {
  /** Relative path to the service, which a proxy may serve under a path prefix. */
  readonly root: string
  readonly title?: string
  readonly problem?: string | undefined
}

interface DashboardView extends PageView {
  readonly address: string
  readonly keys: readonly ListedKey[]
  /** Search text for the list of keys, and the number of the page to show. */
  readonly shown: { readonly word: string; readonly nth: number }
  readonly used: readonly KeyDay[]
  readonly issued?: IssuedKey | undefined
  /** Identifies the form, so that submitting it twice creates only one key. */
  readonly ticket: string
}

export const shownDays = 30

export function renderDashboard(view: DashboardView) {
  const { root, address, keys, used, issued, ticket } = view
  const newKey = renderForm(`${root}dashboard/keys`, 'Create key', [
    input('ticket', { type: 'hidden', value: ticket }),
    label('Name', input('name', { maxlength: 100, placeholder: 'what it is for' })),
    label('Kind', choice('kind', keyKinds.toReversed())),
    label('Plan (for live keys)', choice('plan', [...planNames, 'prepaid'])),
    label('Credits (if prepaid)', input('credits', number)),
    label('Requests per second', input('rate', { ...number, placeholder: 'no limit' })),
    label('Or existing account', input('account', { ...number, placeholder: 'new account' })),
  ])
  return renderPage(
    view,
    html`${issued === undefined ? '' : renderIssued(issued, address)} ${renderLow(keys)}
      <h2>New key</h2>
      ${newKey}
      <h2>Keys</h2>
      ${keys.length === 0 ? html`<p class="soft">No keys yet.</p>` : renderKeys(view)}
      ${renderUsed(used)}`,
  )
}

export function renderUsageForm(problem?: string) {
  const key = input('key', { type: 'password', autocomplete: 'off', required: '' })
  const form = renderForm('./usage', 'Show usage', [label('API key', key)])
  return renderPage({ root: './', problem }, [html`<h2>Usage of your account</h2>`, form])
}

export function renderUsage(key: FoundKey, used: readonly KeyDay[]) {
  const { plan, quota, remaining: credits, renewsAt } = key
  const renewal =
    renewsAt === null ? '' : `, to be renewed on ${renewsAt.toISOString().slice(0, 10)}`
  const low = notice('bad', 'Less than a tenth of your credits is left.')
  const balance = html`<p>Plan ${plan}: ${credits} of ${quota} credits left${renewal}.</p>`
  const parts = [isLow({ credits, quota }) ? low : '', balance, renderUsed(used)]
  return renderPage({ root: './' }, parts)
}

function renderPage({ root, title = 'Search service', problem }: PageView, content: unknown) {
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${title}</title>
      <link rel="stylesheet" href="${root}usage/style.css" />
      <h1>${title}</h1>
      ${problem === undefined ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
      ${content}
    </html>`
}

function notice(kind: string, content: unknown) {
  return html`<div class="notice ${kind}" role="status">${content}</div>`
}

function renderIssued({ key, kind, credits, account }: IssuedKey, address: string) {
  const line = `curl -H "Authorization: Bearer ${key}" "${address}/v1/search?q=css+grid+layout"`
  return notice('', [
    html`<strong>Your new ${kind} key is shown only once. Copy it now.</strong>`,
    html`<code>${key}</code>`,
    html`<span class="soft">Account ${account}, ${credits} credits. To try it:</span>`,
    html`<pre>${line}</pre>`,
  ])
}

function renderLow(keys: readonly ListedKey[]) {
  const low = keys.filter((key) => key.kind === 'live' && !isRevoked(key) && isLow(key))
  const lines = new Set(low.map((key) => `Account ${key.account}: ${key.credits} of ${key.quota}`))
  if (lines.size === 0) return ''
  const items = [...lines].map((line) => html`<p>${line}</p>`)
  return notice('bad', ['Less than a tenth of the credits is left:', items])
}

function renderUsed(used: readonly KeyDay[]) {
  const rows = used
    .toReversed()
    .map(({ day, key, name, kind, requests, failures, credits }) =>
      renderRow([day, html`<code>${key}</code> ${name}`, kind, requests, failures, credits]),
    )
  const heading = html`<h2>Credits used in the last ${shownDays} days</h2>`
  const none = html`<p class="soft">No credits have been used yet. Test keys use no credits.</p>`
  const heads = ['Day', 'Key', 'Kind', 'Requests', 'Failed', 'Credits']
  return [heading, used.length === 0 ? none : renderTable('days', heads, rows)]
}

function renderKeys({ root, keys, shown: { word, nth } }: DashboardView) {
  const path = `${root}dashboard`
  const found = keys
    .filter(({ id, key, name, account }) =>
      `${id} ${key} ${name} account ${account}`.toLowerCase().includes(word.toLowerCase()),
    )
    .toReversed()
  const size = 50
  const pages = Math.max(1, Math.ceil(found.length / size))
  const current = Math.min(Math.max(1, nth), pages)
  const rows = found.slice((current - 1) * size, current * size).map((key) => renderKey(path, key))
  const link = (to: number, text: string) =>
    to < 1 || to > pages
      ? ''
      : html`<a href="${path}?${new URLSearchParams({ q: word, page: String(to) })}">${text}</a>`
  const placeholder = 'name, account 3, last characters'
  const heads = ['Key', 'Account', 'Credits left', 'Last used', 'Name, requests per second', '']
  return html`<form class="find" method="get" action="${path}">
      ${input('q', { value: word, 'aria-label': 'Find keys', placeholder })}
      <button>Find</button>
    </form>
    <p class="soft">
      ${found.length} of ${keys.length} keys, page ${current} of ${pages}
      ${link(current - 1, 'previous page')} ${link(current + 1, 'next page')}
    </p>
    ${renderTable('keys', heads, rows)}`
}

function renderKey(path: string, one: ListedKey) {
  const { id, key, name, account, plan, credits, rate, revoked_at: until } = one
  const used = one.last_used_at?.toISOString().slice(0, 16).replace('T', ' ')
  const lastUse = used === undefined ? 'never' : `${used} UTC`
  const cells = [html`<code>${key}</code>`, `${account}, ${plan}`, credits, lastUse]
  if (isRevoked(one)) return renderRow([...cells, name, 'revoked'], 'gone')
  const change = renderForm(`${path}/keys/${id}/change`, 'Save', [
    input('name', { value: name, maxlength: 100, 'aria-label': `Name of key ${id}` }),
    limit('rate', `Requests per second for account ${account}`, {
      placeholder: 'no limit',
      value: rate ?? '',
    }),
  ])
  const state = until === null ? '' : `valid until ${formatInstant(until)}`
  return renderRow([...cells, change, html`${state} ${renderMore(path, one)}`])
}

/** Renders the forms for rare changes. The last form revokes the key, after confirmation. */
function renderMore(path: string, { id, kind, account, plan, revoked_at: until }: ListedKey) {
  const rotate = renderForm(`${path}/keys/${id}/rotate`, 'Replace', [
    limit('grace', `Hours for which key ${id} stays valid`, { placeholder: '24' }),
  ])
  const topUp = renderForm(`${path}/accounts/${account}/top-up`, 'Top up', [
    limit('credits', `Credits to add to account ${account}`, { placeholder: 'credits' }),
  ])
  const plans = renderForm(`${path}/accounts/${account}/plan`, 'Change plan', [
    label(`Plan of account ${account}`, choice('plan', planNames)),
  ])
  const sure = input('sure', { type: 'checkbox', value: 'yes', required: '' })
  const revoke = renderForm(`${path}/keys/${id}/revoke`, 'Revoke', [
    html`<label>${sure}refuse this key permanently</label>`,
  ])
  return html`<details>
    <summary aria-label="More about key ${id}">more</summary>
    ${until === null ? rotate : ''} ${kind === 'live' && plan === 'prepaid' ? topUp : ''}
    ${kind === 'live' ? plans : ''} ${revoke}
  </details>`
}

function renderForm(action: string, button: string, fields: readonly Html[]) {
  return html`<form method="post" action="${action}">${fields}<button>${button}</button></form>`
}

const number = { inputmode: 'numeric', pattern: '[0-9]*' }

/** Renders a number field with a label for screen readers only. */
function limit(name: string, spoken: string, shown: { placeholder: string; value?: number | '' }) {
  return input(name, { ...number, ...shown, 'aria-label': spoken })
}

function input(name: string, attributes: Readonly<Record<string, string | number>>) {
  const all = Object.entries({ name, ...attributes })
  return html`<input${all.map(([attribute, value]) => html` ${attribute}="${value}"`)} />`
}

function label(text: string, field: Html) {
  return html`<label>${text}${field}</label>`
}

function choice(name: string, values: readonly string[]) {
  const options = values.map((value) => html`<option>${value}</option>`)
  return html`<select name="${name}">
    ${options}
  </select>`
}

function renderTable(kind: string, heads: readonly string[], rows: readonly Html[]) {
  return html`<div class="scroll">
    <table class="${kind}">
      <thead>
        <tr>
          ${heads.map((head) => html`<th>${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`
}

function renderRow(cells: readonly unknown[], kind = '') {
  return html`<tr class="${kind}">
    ${cells.map((cell) => html`<td>${cell}</td>`)}
  </tr>`
}

export const frontPage = renderPage(
  { root: './', title: 'Web Search Results Service' },
  html`<p>
      ${codeIn('One endpoint: `GET /v1/search?q=…` with a key in the header `Authorization: Bearer API_KEY`.')}
    </p>
    <ul>
      <li><a href="./docs/authentication">Authentication</a></li>
      <li><a href="./docs/errors">Errors</a></li>
      <li><a href="./openapi.json">OpenAPI description</a></li>
      <li><a href="./dashboard">Dashboard</a></li>
    </ul>`,
)

export const keyPage = renderHelp('Authentication', [
  'Every request needs an API key. Send it in the header `Authorization: Bearer API_KEY`, or, less securely, as the parameter `api_key`. If both are sent, the header takes precedence.',
  'A live key begins with `sk_live_`, returns real results and uses the credits of your plan. A test key begins with `sk_test_` and returns invented data, free of charge.',
  `Keep keys in environment variables, never in code or in pages. To replace a key, request a second key for the same account, use it everywhere, and then revoke the first key. Both keys are valid in the meantime. The dashboard, \`GET /v1/usage\` and \`${npmRun('keys --')} usage\` show what each key used on each day.`,
])

export const errorPage = renderHelp('Errors', [
  'Every error has the same format. Refused and failed requests are never charged. To ask about an error, quote the `X-Request-Id` of its response.',
])

function renderHelp(title: string, texts: readonly string[]) {
  const rows = Object.entries(reasons).flatMap(([status, reason]) => {
    const code = `\`${statusCode(Number(status) as RefusalStatus)}\``
    const isHere = helpOf(Number(status)) === title.toLowerCase()
    return isHere ? [renderRow([status, code, reason].map(codeIn))] : []
  })
  const table = renderTable('help', ['Status', 'Code', 'Cause and solution'], rows)
  const paragraphs = texts.map((text) => html`<p>${codeIn(text)}</p>`)
  return renderPage({ root: '../', title }, html`${paragraphs}${table}`)
}

function codeIn(text: string) {
  const parts = text.split('`')
  return parts.map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))
}
