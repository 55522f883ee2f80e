// The stack command: shows and stops the embedded PostgreSQL and the bundled search service.

import { npmRun } from '../../base/cli/commands.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import { postgresStatus, stopPostgres } from '../../base/embedded/postgres.ts'
import { serviceStatus, stopService } from '../../base/embedded/service.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { isImage } from '../../base/root.ts'

export async function runStack({ options, args, env }: Call): Promise<Exit> {
  const action = args[0] ?? ''
  const { home, databaseUrl } = readConfig(env)
  if (action !== 'status' && action !== 'stop') {
    throw new Misuse(
      `expected status or stop, got ${JSON.stringify(action)}; see ${npmRun('stack --')} --help`,
    )
  }
  if (databaseUrl !== null) say('note: DATABASE_URL is set, so commands use that database instead')
  await (action === 'stop' ? stop : show)(home, options.json === true)
  return exits.done
}

async function stop(home: string, json: boolean): Promise<void> {
  // The search service is stopped first. Otherwise, the service would lose its database while answering requests.
  const service = await stopService(home)
  const postgres = await stopPostgres(home)
  if (json) printJson({ stopped: { postgres, service } })
  else {
    print(`PostgreSQL: ${postgres ? 'stopped' : 'was not running'}`)
    print(`search service: ${service ? 'stopped' : 'was not running'}`)
  }
}

async function show(home: string, json: boolean): Promise<void> {
  const { url, data, running } = await postgresStatus(home)
  const service = await serviceStatus(home)
  if (json) {
    const shown = { running: service.running, url: service.url }
    printJson({ database_url: url, data, running, service: shown })
    return
  }
  print(`PostgreSQL: ${running ? 'running' : 'not running'}`)
  if (url !== null) print(`  address: ${url}\n  data: ${data}`)
  print(`search service: ${service.running ? `running at ${service.url}` : 'not running'}`)
  if (!running && !isImage) say('commands that need these servers start them automatically')
}
