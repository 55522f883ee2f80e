import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { StandInBooks } from './books.ts'
import type { KnobChange } from './knobs.ts'
import { bindLoopback } from '../listen.ts'
import { reasonOf } from '../../shared/errors.ts'

/** What the operator's port works on. */
interface Desk {
  readonly books: StandInBooks
  set(change: KnobChange): void
}

/** Books and knobs on a port of their own: a client of the API can reach neither through its address. */
export async function openAdmin(
  desk: Desk,
  port: number,
): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    void serve(desk, request, response)
  })
  return { url: await bindLoopback(server, port), server }
}

async function serve(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { books } = desk
  const sums = { balance: books.balance, least: books.least, charged: books.charged }
  switch (`${request.method} ${request.url}`) {
    case 'GET /balance':
      return reply(response, 200, sums)
    case 'GET /charges':
      return reply(response, 200, { ...sums, charges: books.entries, events: books.events })
    case 'POST /set':
      return await change(desk, request, response)
    default:
      return reply(response, 404, { error: 'GET /balance, GET /charges and POST /set live here' })
  }
}

async function change(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    desk.set(JSON.parse(text) as KnobChange)
    reply(response, 200, { ok: true })
  } catch (error) {
    reply(response, 400, { error: reasonOf(error) })
  }
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
