import { describe, expect, test } from 'vitest'
import { pages } from '../../../src/desk/pages/all.ts'
import { payloads } from '../report/payloads.ts'
import { deskScene } from '../scene.ts'

const plain = pages.filter(({ path }) => !path.includes(':')).map(({ path }) => path)
const query = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

const scene = deskScene(
  async () => {
    for (const [index, text] of payloads.entries()) await spread(index + 1, text)
  },
  { settings: { MILL_ACCOUNT: payloads[0] } },
)

/** Writes a text into every place that may contain text from others. */
async function spread(n: number, text: string): Promise<void> {
  const ask = (statement: string, values: unknown[]) => scene.pool.query(statement, values)
  await ask('insert into lists (id, name, source) overriding system value values ($1, $2, $2)', [
    n,
    text,
  ])
  await ask('insert into queries (id, key, q, num) values ($1, $2, $3, 10)', [
    query(n),
    `q-${n}`,
    text,
  ])
  await ask(
    `insert into runs (id, list_id, run_date, kind, state, suspect, finished_at) overriding system value
    values ($1, $1, current_date, 'nightly', 'done', true, now())`,
    [n],
  )
  await ask(
    `insert into night_health (run_id, asked, answered, empty, unreadable, minutes, workers, reasons)
    values ($1, 1, 0, 0, 0, 1, 1, array[$2])`,
    [n, text],
  )
  await ask(
    `insert into tasks (run_id, query_id, slice, state, error_code, error_message)
    values ($1, $2, 0, 'failed', $3, $3)`,
    [n, query(n), text],
  )
  await ask(
    `insert into nights (schedule, due_at, run_date, outcome, note)
    values ($1, now(), current_date, 'missed', $1)`,
    [text],
  )
  await ask(
    "insert into accounts (name, kind, obs_remaining, obs_at) values ($1, 'sandbox', 5, now())",
    [text],
  )
  await ask(
    `insert into workers (account_id, host, pid, floor, concurrency, lease_until)
    select id, $1, 1, 1, 1, now() + interval '1 hour' from accounts where name = $1`,
    [text],
  )
  await ask(
    `insert into stops (account_id, reason, since, detail)
    select id, 'auth', now(), $1 from accounts where name = $1`,
    [text],
  )
  await ask("insert into notices (kind, subject, said) values ('stop', $1, $1)", [text])
}

/** Anything in a page that is more than text: elements, attributes and addresses that no page of ours has. */
function moreThanText(html: string): string[] {
  const scripts = [...html.matchAll(/<script\b[^>]*>/gi)].filter(
    ([tag]) => !/^<script src="\/assets\/[\w-]+\/desk\.js" defer>$/.test(tag),
  )
  const tags = [
    ...html.matchAll(/<(?:img|iframe|object|embed|base|style|math|audio|video)\b[^>]*>/gi),
  ]
  // Quotes in texts are escaped, so the remaining ones enclose attribute values.
  const bare = html.replace(/"[^"]*"/g, '""')
  const handlers = [...bare.matchAll(/<[a-z][^<>]*\s(?:on\w+|style|srcdoc|formaction)\s*=/gi)]
  const addresses = [...html.matchAll(/\s(?:href|src|action)\s*=\s*"([^"]*)"/gi)].filter(
    ([, to = '']) => !/^(\/(?!\/)|#|https?:\/\/)/.test(to),
  )
  return [...scripts, ...tags, ...handlers, ...addresses].map(([found]) => found)
}

describe('texts from others', () => {
  test.each([...plain, '/runs/1', '/runs/2', '/runs/3'])(
    'are shown as text on %s',
    async (path) => {
      const { status, text } = await scene.desk.get(path)
      expect(status).toBe(200)
      expect(moreThanText(text)).toEqual([])
      for (const payload of payloads.filter((one) => one.includes('<')))
        expect(text).not.toContain(payload)
    },
  )

  test('in a URL are shown as text, too', async () => {
    for (const payload of payloads) {
      const typed = encodeURIComponent(payload)
      for (const path of [
        `/runs/${typed}`,
        `/nights?since=${typed}`,
        `/money/statement?account=${typed}`,
        `/?origins=${typed}`,
        `/${typed}`,
      ]) {
        const { text } = await scene.desk.get(path)
        expect(moreThanText(text), path).toEqual([])
      }
    }
  })
})
