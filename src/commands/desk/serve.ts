import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Config } from '../../shared/config.ts'
import { Unreachable, codeOf } from '../../shared/errors.ts'
import { scrubbedReason, type Secret } from '../../shared/secret.ts'
import { makeApp } from './app.ts'
import { readAssets } from './assets.ts'
import { Doorkeeper, urlHost } from './guard.ts'
import { LiveRooms } from './live.ts'
import { files, pages } from './pages.ts'
import { Sessions } from './sessions.ts'
import { DeskTables } from './tables.ts'

/** Where a desk listens, and for whom. */
export interface DeskPlace {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Null: for this machine alone, and without a password. */
  readonly password: Secret | null
  /** Where people reach it through a proxy; null: where it listens. */
  readonly publicUrl: URL | null
}

/** A desk that is open. */
export interface OpenDesk {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

const largestHead = 32_768
const slowestHeadMs = 10_000
const graceMs = 2_000

/** Opens the port, and the tables as soon as they are there. */
export async function serveDesk(
  options: DeskPlace & { readonly config: Config; readonly tell: (line: string) => void },
): Promise<OpenDesk> {
  const { config, host, password, publicUrl, tell } = options
  const server = createServer({
    maxHeaderSize: largestHead,
    headersTimeout: slowestHeadMs,
    requestTimeout: 2 * slowestHeadMs,
  })
  const port = await listenOn(server, options)
  const tables = new DeskTables(config, tell)
  const sessions = password === null ? null : new Sessions(password, port)
  const guard = new Doorkeeper({ host, publicUrl, sessions })
  const live = new LiveRooms({ config, tables, tell }, pages)
  const app = makeApp({ config, tables, guard, assets: readAssets(), pages, files, live, tell })
  const listener = getRequestListener((request, env) => app.fetch(request, env), {
    overrideGlobalObjects: false,
  })
  server.on('request', (request, response) => void listener(request, response))
  await tables.open().catch((error: unknown) => {
    tell(`${scrubbedReason(error)} (the desk is open, says so on its pages, and tries again)`)
  })
  return {
    url: publicUrl?.origin ?? `http://${urlHost(host)}:${port}`,
    port,
    close: async () => {
      live.close()
      await closeServer(server)
      await tables.close()
    },
  }
}

async function listenOn(server: Server, { host, port }: DeskPlace): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      reject(
        new Unreachable(
          `expected port ${port} of ${host} to be free, got ${codeOf(cause) ?? cause.message}; choose another with --port`,
          { cause },
        ),
      )
    })
    server.listen(port, host, resolve)
  })
  return (server.address() as AddressInfo).port
}

/** Lets requests at work end, for a moment. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(timer)
}
