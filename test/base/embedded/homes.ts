import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import pg from 'pg'
import { z } from 'zod'
import { processEnvironment } from '../../../src/base/config.ts'
import { stopPostgres } from '../../../src/base/embedded/postgres.ts'
import { root } from '../../../src/base/root.ts'
import { compiledFrom } from '../../support/job.ts'
import { temporaryFolder } from '../../support/place.ts'

const homes: string[] = []

/** Creates a home for one test; `endHomes` stops its server and removes it. */
export function newHome(): string {
  const home = temporaryFolder('home')
  homes.push(home)
  return home
}

/** Registered with afterEach by each file that creates homes. */
export async function endHomes(): Promise<void> {
  for (const home of homes.splice(0)) {
    await stopPostgres(home)
    rmSync(home, { recursive: true, force: true })
  }
}

/** Runs one query on a separate connection. */
export async function ask(url: string, question: string): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(question)
    return rows[0] ?? {}
  } finally {
    await client.end()
  }
}

const answer = z.object({ url: z.string(), started: z.boolean(), uid: z.number() })

export interface Child {
  readonly process: ChildProcess
  readonly answer: Promise<z.output<typeof answer>>
}

/** Starts test/base/embedded/child.ts in its own process group. */
export function startChild(
  home: string,
  options: { stay?: true; user?: { uid: number; gid: number } } = {},
): Child {
  const script = compiledFrom('test/base/embedded/child.ts')
  const words = [script, home, ...(options.stay === true ? ['stay'] : [])]
  const child = spawn(process.execPath, words, {
    cwd: root,
    // A minimal environment, and a locale without letters beyond ASCII.
    env: { PATH: processEnvironment()['PATH'], LC_ALL: 'C', PGPORT: '1', PGUSER: 'nobody-knows' },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options.user,
  })
  let out = ''
  let trouble = ''
  child.stderr.on('data', (chunk: Buffer) => (trouble += chunk.toString()))
  const said = new Promise<z.output<typeof answer>>((done, fail) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      if (out.includes('\n')) done(answer.parse(JSON.parse(out)))
    })
    child.once('error', fail)
    child.once('close', () => fail(new Error(`expected an answer, got ${out}${trouble}`)))
  })
  return { process: child, answer: said }
}
