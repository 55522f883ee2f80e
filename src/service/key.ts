import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const keyKinds = ['live', 'test'] as const
export type KeyKind = (typeof keyKinds)[number]

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 32
const checkLength = 6
const shape = /^sk_(live|test)_[0-9A-Za-z]{38}$/

/** Issues a key: its kind, 190 random bits, and a checksum that tells a typing error from a revoked key. */
export function makeKey(kind: KeyKind): string {
  const body = `sk_${kind}_${randomDigits(secretLength)}`
  return body + checksum(body)
}

/** The kind of a key as this service issues them; null for anything else, whatever it looks like. */
export function keyKind(key: string): KeyKind | null {
  const kind = shape.exec(key)?.[1]
  if (kind !== 'live' && kind !== 'test') return null
  return key.endsWith(checksum(key.slice(0, -checkLength))) ? kind : null
}

/** What is stored of a key. */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let place = 0; place < checkLength; place += 1) {
    text = (digits[rest % digits.length] ?? '') + text
    rest = Math.floor(rest / digits.length)
  }
  return text
}

function randomDigits(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the last multiple of 62 in a byte: without the cut, the first digits would come more often.
      if (byte < 248 && text.length < length) text += digits[byte % digits.length] ?? ''
    }
  }
  return text
}
