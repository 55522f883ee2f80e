import type { Database } from '../../src/base/database/database.ts'
import type { StoredAnswer } from '../../src/base/answer.ts'
import { type Query, queryId, queryKey } from '../../src/base/query.ts'
import { judge } from '../../src/core/search/verdict.ts'

const asked: Query = { q: 'red shoes', location: null, hl: null, gl: null, num: 10, device: null }

/** The query for all these answers, in its table. */
export async function askQuery(db: Database, q = asked.q): Promise<Query> {
  const query = { ...asked, q }
  const key = queryKey(query)
  await db
    .insertInto('queries')
    .values({ id: queryId(key), key, ...query })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return query
}

/** A body as received for the call with this number. */
export function paid(callId: number, body: string | Buffer | object, query = asked): StoredAnswer {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const receivedAt = new Date('2026-11-21T12:00:00.123Z')
  const response = { status: 200, body: bytes, truncated: false, receivedAt }
  const reply = { kind: 'response', retryAfter: null, replayMs: null, ...response } as const
  const { kind, answer } = judge(reply, query)
  if (answer === null) throw new Error(`expected an answer, got ${kind}`)
  const search = {
    taskId: callId * 10,
    queryId: queryId(queryKey(query)),
    origin: 'live',
    api: 'api.example.com',
    answer,
  } as const
  return { callId, ...response, search }
}
