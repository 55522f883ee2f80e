import type { IncomingMessage } from 'node:http'

/** Nothing was sent; all of it came, or it broke off; it is longer than anything that is read here, or cannot be read. */
export type BodyEnd = 'none' | 'whole' | 'broken' | 'large' | 'unreadable'

const largestBody = 65_536

/**
 * Reads the body of a request that needs none, and forgets it. Only then is the request known to be whole: what breaks
 * after its head is refused, and must not have been searched for and charged by then.
 */
export function readAway(request: IncomingMessage): Promise<BodyEnd> {
  const length = Number(request.headers['content-length'] ?? 0)
  const chunked = request.headers['transfer-encoding'] !== undefined
  if (!chunked && length === 0) return Promise.resolve('none')
  // Node reads nothing behind a wish to speak something else, granted or not.
  if (request.headers.upgrade !== undefined) return Promise.resolve('unreadable')
  if (length > largestBody) return Promise.resolve('large')
  return new Promise((resolve) => {
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > largestBody) resolve('large')
    })
    request.once('end', () => resolve('whole'))
    request.once('error', () => resolve('broken'))
    request.once('close', () => resolve('broken'))
  })
}
