// Opens a log that leaves out secrets.

import { type Logger, pino } from 'pino'
import { codeOf } from './errors.ts'
import { scrub, type Secret } from './secret.ts'

export type Log = Logger

/** Opens a log that writes JSON lines for machines, or readable lines for people. Removes secrets from every line. */
export async function openLog(name: string, secrets: readonly Secret[] = []): Promise<Log> {
  const hooks = { streamWrite: (line: string) => scrub(line, secrets) }
  const options = { name, base: { name, pid: process.pid }, hooks }
  const pretty = process.stderr.isTTY ? await importPretty() : null
  const lines = pretty?.default({ sync: true, destination: 2, ignore: 'pid,name,hostname' })
  const log = pino(options, lines ?? pino.destination({ dest: 2, sync: true }))
  if (process.stderr.isTTY && pretty === null)
    log.info('for logs that are easier to read, run: npm install pino-pretty')
  return log
}

function importPretty() {
  return import('pino-pretty').catch((error: unknown) => {
    if (codeOf(error) === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  })
}

export function quietLog(): Log {
  return pino({ level: 'silent' })
}
