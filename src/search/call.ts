import type { Query } from '../query.ts'
import type { Secret } from '../secret.ts'

/** What became of one paid request. */
export type Reply =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly body: Buffer
      /** True when the body is longer than is kept, or its compression ends too early. */
      readonly truncated: boolean
      readonly retryAfter: string | null
      readonly receivedAt: Date
    }
  /** Provably never sent: no byte of the request was written to a socket. */
  | { readonly kind: 'unsent'; readonly code: string; readonly message: string }
  /** Sent, perhaps charged, and no whole response came back. */
  | {
      readonly kind: 'lost'
      readonly code: string
      readonly message: string
      readonly status: number | null
      readonly partial: Buffer | null
      readonly receivedAt: Date
    }

export interface Api {
  /** Never throws: whatever happens is a reply. */
  call(query: Query, signal?: AbortSignal): Promise<Reply>
  /** Cuts what is in flight. */
  close(): Promise<void>
}

export interface ApiOptions {
  readonly url: URL
  readonly key: Secret
  /** For the whole request, from the first attempt to connect to the last byte of the body. */
  readonly timeoutMs: number
  readonly lanes: number
}

/** Code of an unsent or lost reply that our own signal caused. */
export const aborted = 'ABORTED'

export function openApi(_options: ApiOptions): Api {
  throw new Error('not yet')
}
