// Keeps keys out of all output.

import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { reasonOf } from './errors.ts'

/** Holds a key. Logs, errors and dumps show only the kind of the key, never the key itself. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Returns the key itself, only for use in the request header. */
  reveal(): string {
    return this.#value
  }

  fingerprint(): string {
    return createHash('sha256').update(`querymill ${this.#value}`).digest('hex').slice(0, 16)
  }

  /** Describes the key's length and characters for an error message, without revealing the key. */
  describe(): string {
    const words = this.#value.split(/\s+/).filter((word) => word !== '').length
    const odd = this.#value.replace(/[\x20-\x7e]/g, '').length
    const size = `${words === 1 ? 'a word' : `${words} words`} of ${this.#value.length} characters`
    return odd === 0 ? size : `${size}, ${odd} of them not printable ASCII`
  }

  toString(): string {
    return `${/^sk_(?:live|test)_/.exec(this.#value)?.[0] ?? ''}…`
  }

  toJSON(): string {
    return this.toString()
  }

  [inspect.custom](): string {
    return this.toString()
  }
}

const keyShape = /sk_(live|test)_[A-Za-z0-9_-]+/g

/** Removes anything that looks like a key from a string. */
export function scrub(text: string, secrets: readonly Secret[] = []): string {
  let clean = text.replace(keyShape, 'sk_$1_…')
  for (const secret of secrets) {
    const value = secret.reveal()
    if (value === '') continue
    clean = clean.replaceAll(value, '…').replaceAll(encodeURIComponent(value), '…')
  }
  return clean
}

/** Returns the message of a thrown value (all messages of an AggregateError), with keys removed. */
export function scrubbedReason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(scrubbedReason).join('; ')
  return scrub(reasonOf(error))
}
