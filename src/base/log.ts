// Opens a log without secrets.

import { type Logger, pino } from 'pino'
import { asTyped } from './cli/commands.ts'
import { scrub, type Secret } from './secret.ts'

export type Log = Logger

/** One line of JSON for machines, a readable line for people; no secret survives in the finished line. */
export async function openLog(name: string, secrets: readonly Secret[] = []): Promise<Log> {
  const hooks = { streamWrite: (line: string) => scrub(asTyped(line), secrets) }
  const options = { name, base: { name, pid: process.pid }, hooks }
  if (!process.stderr.isTTY) return pino(options, pino.destination({ dest: 2, sync: true }))
  const { default: pretty } = await import('pino-pretty')
  return pino(options, pretty({ sync: true, destination: 2, ignore: 'pid,name,hostname' }))
}

/** A log that nobody reads: for tests, and for callers that gave none. */
export function quietLog(): Log {
  return pino({ level: 'silent' })
}
