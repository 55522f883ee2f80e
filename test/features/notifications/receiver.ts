// const receiver = await openReceiver() → a server on loopback that accepts notices: `receiver.got` holds each with its
// headers; `receiver.statuses` are returned first, 'never' leaves a request without a response; `webhook()` is its
// setting.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Webhook } from '../../../src/base/config.ts'
import { webhookEvents } from '../../../src/base/settings.ts'

export interface Got {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Receiver {
  readonly url: URL
  readonly got: Got[]
  /** Notices accepted with 200, as they were sent. */
  readonly bodies: () => { text: string; event: string; id: string; [field: string]: unknown }[]
  /** Statuses returned before 200. */
  statuses: (number | 'never')[]
  /** Headers of each response. */
  headers: Record<string, string>
  readonly webhook: (over?: Partial<Webhook>) => Webhook
  close(): Promise<unknown>
}

/** Opens a receiver on a free port. */
export async function openReceiver(path = '/services/secret-path'): Promise<Receiver> {
  const taken: string[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += String(chunk)))
    request.on('end', () => {
      receiver.got.push({ path: request.url ?? '', headers: request.headers, text })
      const status = receiver.statuses.shift() ?? 200
      if (status === 'never') return
      if (status === 200) taken.push(text)
      response.writeHead(status, receiver.headers).end('thanks')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
  const receiver: Receiver = {
    url,
    got: [],
    bodies: () => taken.map((text) => JSON.parse(text)),
    statuses: [],
    headers: {},
    webhook: (over = {}) => ({ url, secret: null, events: webhookEvents, format: 'json', ...over }),
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}
