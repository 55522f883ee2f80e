import type { Dispatcher } from 'undici'
import { bodyCap } from './body.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** How an exchange ended: with a whole response, or with what was there when it broke. */
export interface ExchangeEnding {
  /** False: no byte of the request was written to a socket. */
  readonly sent: boolean
  /** Null: the response is whole, or longer than is kept. */
  readonly failure: { readonly code: string; readonly message: string } | null
  readonly status: number | null
  readonly headers: Headers
  readonly bytes: Buffer
  readonly truncated: boolean
}

/** One request on one socket. Ends exactly once, and is never sent twice. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #settle: (ending: ExchangeEnding) => void
  readonly #chunks: Buffer[] = []
  #size = 0
  #status: number | null = null
  #headers: Headers = {}
  #controller: Dispatcher.DispatchController | null = null
  #ended = false

  constructor(settle: (ending: ExchangeEnding) => void) {
    this.#settle = settle
  }

  /** Called right before the first byte is written; aborting here leaves the request unsent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended) {
      controller.abort(new Error('nobody waits for this call any more'))
      return
    }
    if (this.#controller !== null) {
      // A client that sends again on its own account would buy twice.
      this.cut('RESENT', 'the connection broke and the client tried to send again')
      controller.abort(new Error('sent once already'))
      return
    }
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 103 and its like announce a response; they are none.
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size <= bodyCap) return
    this.#end(null, true)
    this.#controller?.abort(new Error('the body is longer than is kept'))
  }

  onResponseEnd(): void {
    this.#end(null)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
    // A host with several addresses that all refuse gives an error without a message.
    this.#end({ code, message: error.message === '' ? code : error.message })
  }

  /** Ends the exchange from our side: a deadline, or a signal. */
  cut(code: string, message: string): void {
    if (this.#ended) return
    this.#end({ code, message })
    this.#controller?.abort(new Error(message))
  }

  #end(failure: ExchangeEnding['failure'], truncated = false): void {
    if (this.#ended) return
    this.#ended = true
    const [only] = this.#chunks
    const all = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks)
    this.#settle({
      sent: this.#controller !== null,
      failure,
      status: this.#status,
      headers: this.#headers,
      bytes: truncated ? all.subarray(0, bodyCap) : all,
      truncated,
    })
  }
}
