import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { createMiddleware } from 'hono/factory'
import type { DoorEnv } from './door.ts'

// Below this the saving is less than a packet.
const leastBytes = 1024
// The strongest costs a hundred times the CPU for a tenth less.
const brotliQuality = 4

const encoders = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality },
    }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
}

type Encoding = keyof typeof encoders

/**
 * Compresses answers that are worth it, for clients that say they can read them. Pages of the dashboard never: they
 * hold secrets beside what somebody else may have made a browser send, and a length would betray them.
 */
export function compress(basePath: string) {
  const secret = `${basePath}/dashboard`
  return createMiddleware<DoorEnv>(async (c, next) => {
    await next()
    if (c.req.path.startsWith(secret)) return
    const { res } = c
    // An answer that breaks off on purpose is on its way already.
    if (res.body === null || res.headers.has('content-encoding')) return
    res.headers.set('vary', 'Accept-Encoding')
    const encoding = chooseEncoding(c.req.header('accept-encoding'))
    if (encoding === null || c.req.method === 'HEAD') return
    const bytes = Buffer.from(await res.arrayBuffer())
    const packed = bytes.length < leastBytes ? bytes : await encoders[encoding](bytes)
    const smaller = packed.length < bytes.length
    const headers = new Headers(res.headers)
    if (smaller) headers.set('content-encoding', encoding)
    headers.delete('content-length')
    c.res = undefined
    c.res = new Response(smaller ? packed : bytes, { status: res.status, headers })
  })
}

/** The encoding that a client likes best of those there are; null: as it is. */
export function chooseEncoding(header: string | undefined): Encoding | null {
  if (header === undefined) return null
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...params] = part.split(';').map((text) => text.trim())
    const weight = params.find((param) => /^q\s*=/.test(param))?.replace(/^q\s*=\s*/, '')
    weights.set(name === 'x-gzip' ? 'gzip' : name, weight === undefined ? 1 : Number(weight))
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  // As it is counts when it is liked better by name; otherwise what is smaller on the wire.
  const asItIs = weights.get('identity') ?? 0
  const [best] = (['br', 'gzip'] as const)
    .filter((name) => weightOf(name) > 0 && weightOf(name) >= asItIs)
    .toSorted((a, b) => weightOf(b) - weightOf(a))
  return best ?? null
}
