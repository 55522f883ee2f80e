// bought(call, reply): a task whose call returned this reply, with its verdict; answer(), refusal() and the like are
// replies; recordedOf(entries) is the result of a ledger that has recorded them.
import { queryId, queryKey } from '../../../src/base/query.ts'
import type { Entry, SettledCall } from '../../../src/core/ledger/settle.ts'
import type { Reply } from '../../../src/core/search/call.ts'
import { judge } from '../../../src/core/search/verdict.ts'
import type { Bought, Task } from '../../../src/core/ledger/entry.ts'

export function task(id: number, over: Partial<Task> = {}): Task {
  const query = { q: `query ${id}`, location: null, hl: null, gl: null, num: 10, device: null }
  const asked = { id, run: 1, priority: 5, class: '10/-', query }
  return { ...asked, queryId: queryId(queryKey(query)), suspect: false, refused: false, ...over }
}

export function bought(call: number, reply: Reply): Bought {
  const asked = task(call)
  return { task: asked, call: { id: call, mark: null }, reply, verdict: judge(reply, asked.query) }
}

/** The result of a ledger that has recorded these entries, each for the task with its own number. */
export function recordedOf(entries: readonly Entry[]): SettledCall[] {
  return entries.map(({ call: { id } }) => ({
    call: id,
    task: id,
    state: 'answered',
    waitMs: null,
  }))
}

export function response(status: number, body: object, retryAfter: string | null = null): Reply {
  const receivedAt = new Date('2026-03-01T12:00:00Z')
  const bytes = Buffer.from(JSON.stringify(body))
  return {
    kind: 'response',
    status,
    body: bytes,
    truncated: false,
    retryAfter,
    replayMs: null,
    receivedAt,
  }
}

/** The response of a firewall in front of the API. */
export function page(status: number): Reply {
  const receivedAt = new Date('2026-03-01T12:00:00Z')
  const body = Buffer.from('<html>request blocked</html>')
  return {
    kind: 'response',
    status,
    body,
    truncated: false,
    retryAfter: null,
    replayMs: null,
    receivedAt,
  }
}

export function answer(fields: object = {}): Reply {
  return response(200, { success: true, credits_used: 2, credits_remaining: 98, ...fields })
}

export function refusal(status: number, code: string, retryAfter: string | null = null): Reply {
  return response(status, { success: false, error: { code, message: 'no' } }, retryAfter)
}

export function unsent(code: string): Reply {
  return { kind: 'unsent', code, message: 'nothing was sent' }
}

export function lost(partial: Buffer | null = null): Reply {
  const receivedAt = new Date('2026-03-01T12:00:00Z')
  return { kind: 'lost', code: 'TIMEOUT', message: 'cut', status: 200, partial, receivedAt }
}
