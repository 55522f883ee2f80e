import { callerPath, readConfig, type Config } from '../../shared/config.ts'
import { Misuse, exits, type Exit } from '../../shared/errors.ts'
import { printJson, say, type Call } from '../../shared/terminal/command.ts'
import { wholeFlag } from '../../shared/terminal/flags.ts'
import { isLoopback } from '../../shared/address.ts'
import { urlHost } from './guard.ts'
import { readPassword } from './sessions.ts'
import { serveDesk, type OpenDesk, type DeskPlace } from './serve.ts'

/** What can be typed after `npm run desk --`. */
export interface DeskFlags {
  readonly port?: string
  readonly host?: string
  readonly passwordFile?: string
  readonly publicUrl?: string
  readonly json?: true
}

const usualPort = 8750
const highestPort = 65_535

/** Serves the pages until it is stopped. */
export async function runDesk(call: Call<DeskFlags>): Promise<Exit> {
  const { options, env, closers, signal } = call
  const config = readConfig(env)
  const place = readPlace(options, (path) => callerPath(env, path))
  const desk = closers.add('the desk', await serveDesk({ config, ...place, tell: say }), (open) =>
    open.close(),
  )
  if (options.json === true) printJson({ url: desk.url, port: desk.port })
  else
    say(
      `the desk is at ${desk.url}${place.password === null ? '' : ', behind its password'}; Ctrl-C ends it`,
    )
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  return signal.reason === 'SIGINT' ? exits.interrupted : exits.done
}

/** The desk beside a worker or a scheduler, on this machine alone. */
export async function startDeskBeside(
  { config, tell }: { config: Config; tell: (line: string) => void },
  typed: string | true,
): Promise<OpenDesk> {
  const port = typed === true ? usualPort : (wholeFlag('desk', typed, highestPort) ?? usualPort)
  const desk = await serveDesk({
    config,
    tell,
    host: '127.0.0.1',
    port,
    password: null,
    publicUrl: null,
  })
  tell(`the desk is at ${desk.url}`)
  return desk
}

/** Where to listen, and for whom: whoever listens to other machines needs a password. */
function readPlace(
  { port, host = '127.0.0.1', passwordFile, publicUrl }: DeskFlags,
  path: (typed: string) => string,
): DeskPlace {
  const shown = passwordFile === undefined ? null : readPassword(path(passwordFile), passwordFile)
  if (shown?.exposed === true)
    say(`others on this machine can read ${passwordFile}: chmod 600 ${passwordFile}`)
  const url = publicUrl === undefined ? null : readPublicUrl(publicUrl)
  if (shown === null && (url !== null || !isLoopback(urlHost(host)))) {
    throw new Misuse(
      `expected --password-file for a desk that others can reach, got ${url === null ? `--host ${host}` : '--public-url'} without one; write a long password into a file of your own, chmod 600 it, and name it`,
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
  const url = URL.canParse(typed) ? new URL(typed) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/') return url
  throw new Misuse(
    `expected --public-url to be an address like https://desk.example.com, without a path, got ${JSON.stringify(typed)}`,
  )
}
