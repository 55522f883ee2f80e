// The service command and its options.

import { once } from 'node:events'
import { type Call, print, say } from '../base/cli/command.ts'
import { wholeFlag, wordFlag } from '../base/cli/flags.ts'
import { readConfig } from '../base/config.ts'
import { type Exit, exits, Misuse } from '../base/errors.ts'
import { openLog } from '../base/log.ts'
import { findDatabase } from './database.ts'
import { startService, upstreams } from './start.ts'

export interface ServiceFlags {
  readonly port: string
  readonly host: string
  readonly upstream?: string
  readonly publicUrl?: string
  readonly log: string
}

export async function runService(call: Call<ServiceFlags>): Promise<Exit> {
  const { options, env, closers, signal } = call
  const port = wholeFlag('port', options.port, 65_535) ?? 0
  const logged = wordFlag('log', options.log, ['requests', 'none'])
  const flags = options.publicUrl === undefined ? {} : { SERVICE_PUBLIC_URL: options.publicUrl }
  const config = readConfig(env, flags)
  // If the service listens on all addresses, the address for links in error responses is unknown.
  if (config.publicUrl === null && ['0.0.0.0', '::'].includes(options.host)) {
    throw new Misuse(
      `SERVICE_PUBLIC_URL is not set, but --host ${options.host} requires it; set --public-url to the address at which clients reach the service`,
    )
  }
  const log = await openLog('service')
  // Requests are logged at the `info` level, and problems at higher levels.
  if (logged === 'none') log.level = 'warn'
  const opened = await startService({
    upstream: wordFlag('upstream', options.upstream ?? config.upstream, upstreams),
    databaseUrl: await findDatabase(config),
    port,
    host: options.host,
    log,
    password: config.servicePassword,
    keepMs: config.keepQueriesMs,
    publicUrl: config.publicUrl?.href,
    searxngUrl: config.searxngUrl,
  })
  const { url } = closers.add('service', opened, (open) => open.close())
  print(JSON.stringify({ url }))
  say(`the search service is running at ${url}; press Ctrl-C to stop it`)
  if (!signal.aborted) await once(signal, 'abort')
  return exits.done
}
