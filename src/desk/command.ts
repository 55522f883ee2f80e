// The desk command: serves the desk until it is stopped.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { isLoopback, parseUrl } from '../base/address.ts'
import { type Call, printJson, say } from '../base/cli/command.ts'
import { wholeFlag } from '../base/cli/flags.ts'
import { callerPath, type Config, readConfig } from '../base/config.ts'
import { codeOf, type Exit, exits, Misuse, reasonOf, Unreachable } from '../base/errors.ts'
import { scrubbedReason } from '../base/secret.ts'
import { makeApp } from './app.ts'
import { readAssets } from './assets.ts'
import { hostGuard, openSessions, readPassword, urlHost } from './guard.ts'
import { livePages } from './live.ts'
import { files, pages } from './pages/all.ts'
import { deskTables } from './tables.ts'

interface DeskFlags {
  readonly port?: string
  readonly host?: string
  readonly passwordFile?: string
  readonly publicUrl?: string
}

const usualPort = 8750
const highestPort = 65_535

export async function runDesk(call: Call<DeskFlags>): Promise<Exit> {
  const { options, env, closers, signal } = call
  const config = readConfig(env)
  const place = readPlace(options, (path) => callerPath(env, path))
  const desk = closers.add('the desk', await serveDesk({ config, ...place, report: say }), (open) =>
    open.close(),
  )
  const guarded = place.password === null ? '' : ', protected by its password'
  if (options.json === true) printJson({ url: desk.url, port: desk.port })
  else say(`the desk is at ${desk.url}${guarded}; press Ctrl-C to stop it`)
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  return signal.reason === 'SIGINT' ? exits.interrupted : exits.done
}

/** Reads the address to listen on. An address that other machines can reach requires a password. */
function readPlace(
  { port, host = '127.0.0.1', passwordFile, publicUrl }: DeskFlags,
  path: (typed: string) => string,
) {
  const shown = passwordFile === undefined ? null : readPassword(path(passwordFile), passwordFile)
  if (shown?.exposed === true)
    say(`other users of this machine can read ${passwordFile}; run: chmod 600 ${passwordFile}`)
  const url = publicUrl === undefined ? null : readPublicUrl(publicUrl)
  if (shown === null && (url !== null || !isLoopback(urlHost(host)))) {
    throw new Misuse(
      `expected a password for a desk that others can reach, got ${url === null ? `--host ${host}` : '--public-url'} without --password-file; write a long password to a file, run chmod 600 on it, and pass its path`,
    )
  }
  return {
    host,
    port: wholeFlag('port', port, highestPort) ?? usualPort,
    password: shown?.password ?? null,
    publicUrl: url,
  }
}

function readPublicUrl(typed: string): URL {
  const url = parseUrl(typed)
  if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/') return url
  throw new Misuse(
    `expected --public-url to be an address like https://desk.example.com, without a path, got ${JSON.stringify(typed)}`,
  )
}

type DeskPlace = ReturnType<typeof readPlace>

const largestHead = 32_768
const slowestHeadMs = 10_000
const graceMs = 2_000

/** Opens the port immediately, and the database as soon as it is reachable. */
export async function serveDesk(
  options: DeskPlace & { readonly config: Config; readonly report: (line: string) => void },
) {
  const { config, host, password, publicUrl, report } = options
  const server = createServer({
    maxHeaderSize: largestHead,
    headersTimeout: slowestHeadMs,
    requestTimeout: 2 * slowestHeadMs,
  })
  const port = await listenOn(server, options)
  const tables = deskTables(config, report)
  const sessions = password === null ? null : openSessions(password, port)
  const guard = hostGuard(host, publicUrl, sessions)
  const live = livePages({ config, tables, report }, pages)
  const app = makeApp({ config, tables, guard, assets: readAssets(), pages, files, live, report })
  const listener = getRequestListener((request, env) => app.fetch(request, env), {
    overrideGlobalObjects: false,
  })
  server.on('request', (request, response) => void listener(request, response))
  await tables.open().catch((error: unknown) => {
    const reason = scrubbedReason(error)
    report(`${reason} (the desk keeps running, shows this error on its pages, and tries again)`)
  })
  return {
    url: publicUrl?.origin ?? `http://${urlHost(host)}:${port}`,
    port,
    close: async () => {
      live.close()
      const timer = setTimeout(() => server.closeAllConnections(), graceMs)
      await new Promise((resolve) => server.close(resolve))
      clearTimeout(timer)
      await tables.close()
    },
  }
}

async function listenOn(server: Server, { host, port }: DeskPlace): Promise<number> {
  try {
    await once(server.listen(port, host), 'listening')
  } catch (cause) {
    throw new Unreachable(
      `expected port ${port} on ${host} to be free, got ${codeOf(cause) ?? reasonOf(cause)}; choose another with --port`,
      { cause },
    )
  }
  return (server.address() as AddressInfo).port
}
