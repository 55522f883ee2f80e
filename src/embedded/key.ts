import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { Unreachable } from '../shared/errors.ts'
import { Secret } from '../shared/secret.ts'
import { readIfThere, writePrivate } from './files.ts'
import { startDaemon } from './program.ts'

// More than anybody uses up while trying things out, and small enough to see it go down.
const credits = 1_000_000

const shape = z.looseObject({ key: z.string().startsWith('sk_live_') })

/** Where the key of this machine lies; good as SEARCH_API_KEY_FILE too. */
function keyFile(home: string): string {
  return join(home, 'service.key')
}

/** The live key of this machine for the bundled service; null before there is one. */
export function readKey(home: string): Secret | null {
  const text = readIfThere(keyFile(home))?.trim() ?? ''
  return text === '' ? null : new Secret(text)
}

/** Has the keys command issue a key, as a person would, and keeps it where only we can read it. */
export async function issueKey(home: string, databaseUrl: string): Promise<Secret> {
  const files = { out: `${keyFile(home)}.new`, log: join(home, 'keys.log') }
  const args = ['create', '--kind', 'live', '--credits', String(credits)]
  const program = { job: 'keys', args: [...args, '--name', 'bundled', '--json'], home, databaseUrl }
  try {
    const code = await startDaemon(program, files).ended
    const answer = readIfThere(files.out) ?? ''
    if (code !== 0) {
      throw new Unreachable(
        `expected a key for the bundled search service, got exit ${code}: ${readIfThere(files.log)?.trim() ?? ''}`,
      )
    }
    const { key } = shape.parse(JSON.parse(answer))
    writePrivate(keyFile(home), `${key}\n`)
    return new Secret(key)
  } finally {
    rmSync(files.out, { force: true })
    rmSync(files.log, { force: true })
  }
}

/** Asks without a query, which costs nothing: a key that is not known is refused before the question is looked at. */
export async function isGoodKey(url: string, key: Secret): Promise<boolean> {
  const response = await fetch(new URL('/v1/search', url), {
    headers: { authorization: `Bearer ${key.reveal()}` },
    signal: AbortSignal.timeout(10_000),
  })
  await response.body?.cancel()
  return response.status !== 401 && response.status !== 403
}
