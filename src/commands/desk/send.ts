import type { Context } from 'hono'
import { PageAddress } from './address.ts'
import type { DeskEnv } from './guard.ts'
import type { FilePage } from './page.ts'
import { readingOf } from './place.ts'
import { pageHeaders } from './policy.ts'
import type { DeskGround } from './tables.ts'

/** Answers with a file, piece by piece, as its reader takes them. What fails before the first piece is a page that says so. */
export async function sendFile(
  c: Context<DeskEnv>,
  parts: DeskGround,
  file: FilePage,
): Promise<Response> {
  const address = new PageAddress(c.req.param(), new URL(c.req.url).searchParams)
  const reading = await readingOf(parts, address, c.req.raw.signal)
  const { type, name, pieces } = await file.send(address, reading)
  const reader = pieces[Symbol.asyncIterator]()
  const first = await reader.next()
  const encoder = new TextEncoder()
  const bytes = (piece: string | Uint8Array) =>
    typeof piece === 'string' ? encoder.encode(piece) : piece
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.done === true) controller.close()
      else controller.enqueue(bytes(first.value))
    },
    async pull(controller) {
      const next = await reader.next()
      if (next.done === true) controller.close()
      else controller.enqueue(bytes(next.value))
    },
    async cancel() {
      await reader.return?.()
    },
  })
  return c.body(body, 200, {
    ...pageHeaders,
    // Content by nobody, whatever it holds: a body that came from elsewhere must not run as a page of the desk.
    'content-security-policy': "default-src 'none'; sandbox",
    'content-type': type,
    'content-disposition': `attachment; filename="${name.replace(/[^\w.-]+/g, '_')}"`,
  })
}
