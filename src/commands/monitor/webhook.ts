import { request as plain } from 'node:http'
import { request as secure } from 'node:https'
import { setTimeout } from 'node:timers/promises'

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

/** The receiver answered, and not with thanks. Its address stays out of the message: it is often a secret. */
class Refused extends Error {
  readonly forGood: boolean

  constructor(status: number) {
    super(`expected the webhook to take a notice, got status ${status}`)
    this.forGood = status >= 400 && status < 500 && status !== 408 && status !== 429
  }
}

function send(url: URL, body: string): Promise<void> {
  const request = url.protocol === 'https:' ? secure : plain
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'querymill',
    }
    const signal = AbortSignal.timeout(answerWithinMs)
    const sent = request(url, { method: 'POST', headers, signal }, (answer) => {
      answer.resume()
      const status = answer.statusCode ?? 0
      if (status >= 200 && status < 300) resolve()
      else reject(new Refused(status))
    })
    sent.on('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code ?? cause.name
      reject(new Error(`expected the webhook to answer, got ${why}`, { cause }))
    })
    sent.end(body)
  })
}
