import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Misuse } from '../../shared/errors.ts'
import { late, within } from '../../shared/waiting.ts'

export interface HealthOptions {
  /** 0: any free port. */
  readonly port: number
  /** What is missing before work can be done; nothing when it can. An account without credit is no such lack. */
  readonly problems: () => Promise<readonly string[]>
  readonly metrics: () => Promise<string>
}

export interface Health {
  readonly port: number
  close(): Promise<void>
}

const answerWithinMs = 5_000

/** Serves `/livez`, `/readyz` and `/metrics` to this machine only. */
export async function startHealth(options: HealthOptions): Promise<Health> {
  const server = createServer((request, response) => {
    void answer(options, request.url ?? '', response)
  })
  // Nobody may hold a probe open: there are few sockets, and they are for probes.
  server.requestTimeout = answerWithinMs
  server.maxConnections = 50
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new Misuse(
          `MILL_METRICS_PORT: expected a free port, got ${options.port}, which cannot be used (${cause.code ?? cause.message}); each process needs a port of its own`,
          { cause },
        ),
      )
    })
    server.listen(options.port, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(
  { problems, metrics }: HealthOptions,
  url: string,
  response: ServerResponse,
): Promise<void> {
  try {
    switch (url.split('?', 1).join('')) {
      case '/livez':
      case '/healthz':
        return send(response, 200, 'ok\n')
      case '/readyz': {
        const found = await answered(problems())
        return found.length === 0
          ? send(response, 200, 'ok\n')
          : send(response, 503, `${found.join('\n')}\n`)
      }
      case '/metrics':
        return send(response, 200, await answered(metrics()))
      default:
        return send(response, 404, 'here are /livez, /readyz and /metrics\n')
    }
  } catch (error) {
    send(response, 503, `${error instanceof Error ? error.name : 'Error'}\n`)
  }
}

// The version is that of Prometheus' text format; readers of plain text do not mind it.
const contentType = 'text/plain; version=0.0.4; charset=utf-8'

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': contentType,
    'cache-control': 'no-store',
  })
  response.end(text)
}

async function answered<T>(found: Promise<T>): Promise<T> {
  const read = await within(found, { ms: answerWithinMs })
  if (read !== late) return read
  throw new Error('no answer in time')
}
