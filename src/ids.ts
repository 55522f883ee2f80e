import { hash } from 'node:crypto'

/**
 * The id of a dictionary row, derived from its content: two hosts never disagree and no round trip fetches it.
 * The first 16 bytes of sha256 over kind and parts, joined by the unit separator, written as a uuid.
 */
export function contentId(kind: string, ...parts: readonly string[]): string {
  const hex = hash('sha256', [kind, ...parts].join('\u001f'), 'hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
