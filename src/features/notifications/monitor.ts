// Serves a process's health checks and metrics, and sends notices.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { probeDatabase } from '../../base/database/database.ts'
import { Misuse } from '../../base/errors.ts'
import { late, within } from '../../base/waiting.ts'
import { startForecast } from '../../core/forecast/stored-forecast.ts'
import type { Mill } from '../../core/mill.ts'
import type { TaskCounts } from './metrics.ts'
import { startNotices } from './news.ts'

interface MonitorOptions {
  readonly report: (line: string) => void
  /** Returns the reasons why this process can't work yet, one short line for each reason. */
  readonly problems?: () => readonly string[]
  readonly counted?: () => TaskCounts
  readonly more?: () => Promise<string>
}

/** Starts the forecast. Also starts health checks and metrics if a port is set, and notices if a webhook is set. */
export async function startMonitor(mill: Mill, options: MonitorOptions) {
  const { metricsPort: port, webhook, unattendedMs } = mill.config
  const { report } = options
  const served = port === null ? null : await serve(mill, port, options)
  const notices = { unattendedMs, report, everyMs: 5_000 }
  const news = webhook === null ? null : startNotices(mill.db, { webhook, ...notices })
  const forecast = startForecast(mill)
  return {
    /** Records the duration of a paid request, in seconds. */
    observe: (seconds: number) => served?.observe(seconds),
    port: served?.port ?? null,
    close: async () => {
      await forecast.close()
      await news?.close()
      await served?.close()
    },
  }
}

async function serve(mill: Mill, port: number, options: MonitorOptions) {
  // The metrics library is optional, and only loaded if a port is set.
  const { openMetrics } = await import('./metrics.ts')
  const { db, supplier, config } = mill
  const { text, observe } = openMetrics({ db, supplier, floor: config.creditFloor, ...options })
  const problems = async () => [...(await databaseProblems(mill)), ...(options.problems?.() ?? [])]
  const health = await startHealth({ host: config.metricsHost, port, problems, metrics: text })
  options.report(`health and metrics on http://${config.metricsHost}:${health.port}`)
  return { observe, ...health }
}

async function databaseProblems({ db }: Mill): Promise<readonly string[]> {
  try {
    await probeDatabase(db)
    return []
  } catch {
    // The error is not shown, because it contains the database's address, and other people may read health probes.
    return ['the database does not answer']
  }
}

interface HealthOptions {
  readonly host?: string
  readonly port: number
  /** Returns all reasons why this process can't work, except a lack of credits; empty if there are none. */
  readonly problems: () => Promise<readonly string[]>
  readonly metrics: () => Promise<string>
}

const answerWithinMs = 5_000

/** Serves `/livez`, `/readyz` and `/metrics`. Without `host`, only this machine can connect. */
export async function startHealth(options: HealthOptions) {
  const server = createServer((request, response) => {
    void answer(options, request.url ?? '', response)
  })
  // Ends slow requests, because the number of connections is limited and probes must not wait.
  server.requestTimeout = answerWithinMs
  server.maxConnections = 50
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new Misuse(
          `MILL_METRICS_PORT: expected a free port, got ${options.port}, which cannot be used (${cause.code ?? cause.message}); choose a different port for each process`,
          { cause },
        ),
      )
    })
    server.listen(options.port, options.host ?? '127.0.0.1', resolve)
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

async function answer({ problems, metrics }: HealthOptions, url: string, response: ServerResponse) {
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
        return send(response, 404, 'available: /livez, /readyz and /metrics\n')
    }
  } catch (error) {
    send(response, 503, `${error instanceof Error ? error.name : 'Error'}\n`)
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  // The version identifies the Prometheus text format. Other clients ignore the version.
  const contentType = 'text/plain; version=0.0.4; charset=utf-8'
  response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' })
  response.end(text)
}

async function answered<T>(found: Promise<T>): Promise<T> {
  const read = await within(found, { ms: answerWithinMs })
  if (read !== late) return read
  throw new Error('no answer in time')
}
