import { setTimeout } from 'node:timers/promises'
import { codeOf } from '../../shared/errors.ts'

/** What is told: one line that a chat tool shows as it is, and the same as fields. */
export interface Notice {
  readonly kind: string
  readonly subject: string
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
}

const pausesMs = [1_000, 5_000, 20_000]
const answerWithinMs = 10_000

/** Posts one notice; tries again a few times, and gives up with the reason of the last try. */
export async function post(url: URL, notice: Notice, pauses = pausesMs): Promise<void> {
  const { kind, text, fields } = notice
  const body = JSON.stringify({ text, event: kind, ...fields })
  for (const [attempt, pause] of [...pauses, null].entries()) {
    try {
      return await send(url, body)
    } catch (error) {
      // What the receiver refuses for good it would refuse again.
      if (pause === null || (error instanceof Refused && error.forGood)) throw error
      await setTimeout(pause * (1 + attempt * 0.1 * Math.random()), undefined, { ref: false })
    }
  }
}

/** The receiver answered, but not with success. Its address stays out of the message: it is often a secret. */
class Refused extends Error {
  readonly forGood: boolean

  constructor(status: number) {
    super(`expected the webhook to take a notice, got status ${status}`)
    this.forGood = status >= 400 && status < 500 && status !== 408 && status !== 429
  }
}

async function send(url: URL, body: string): Promise<void> {
  const answer = await ask(url, body)
  await answer.body?.cancel()
  if (!answer.ok) throw new Refused(answer.status)
}

async function ask(url: URL, body: string): Promise<Response> {
  const { address, authorization } = withoutLogin(url)
  try {
    return await fetch(address, {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'user-agent': 'querymill',
        ...authorization,
      },
      body,
      // A redirect is a refusal: it would carry the notice to an address that nobody set.
      redirect: 'manual',
      signal: AbortSignal.timeout(answerWithinMs),
    })
  } catch (cause) {
    throw new Error(`expected the webhook to answer, got ${whyUnanswered(cause)}`, { cause })
  }
}

/** Only a code or a name: the words of the error hold the address. */
function whyUnanswered(error: unknown): string {
  if (!(error instanceof Error)) return 'an error'
  return codeOf(error.cause) ?? error.name
}

/** A name and password in the address go into a header: fetch refuses to send them in the address. */
function withoutLogin(url: URL) {
  if (url.username === '' && url.password === '') return { address: url, authorization: {} }
  const address = new URL(url)
  address.username = ''
  address.password = ''
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`
  return { address, authorization: { authorization } }
}
