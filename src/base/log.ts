// Opens a log that contains no secrets.

import { type Logger, pino } from 'pino'
import { scrub, type Secret } from './secret.ts'

export type Log = Logger

/** Writes JSON lines for machines, or readable lines for people; secrets are removed from each finished line. */
export async function openLog(name: string, secrets: readonly Secret[] = []): Promise<Log> {
  const hooks = { streamWrite: (line: string) => scrub(line, secrets) }
  const options = { name, base: { name, pid: process.pid }, hooks }
  if (!process.stderr.isTTY) return pino(options, pino.destination({ dest: 2, sync: true }))
  const { default: pretty } = await import('pino-pretty')
  return pino(options, pretty({ sync: true, destination: 2, ignore: 'pid,name,hostname' }))
}

/** A silent log, for tests and for callers without a log. */
export function quietLog(): Log {
  return pino({ level: 'silent' })
}
