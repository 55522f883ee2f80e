// @module-tag slow
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'
import { start, type Running } from '../support/run.ts'
import { xlsxOf, zipOf } from '../core/lists/archives.ts'

let database: FreshDatabase
let folder: string
beforeAll(async () => {
  database = await freshDatabase()
  folder = mkdtempSync(join(tmpdir(), 'bad-lists-'))
})
afterAll(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

const path = (name: string) => join(folder, name)

function enqueue(name: string): Running {
  const env = { DATABASE_URL: database.url, MILL_HOME: path('home'), INIT_CWD: folder }
  return start('enqueue', [name, '--yes'], env)
}

/** Returns the exit of an enqueue command, and the rows and files that the command left. */
async function outcomeOf(running: Running) {
  const { code, stdout, stderr } = await running.ended
  const { rows } = await database.pool.query<{ left: number }>(`
    select (
      (select count(*) from lists) + (select count(*) from runs) + (select count(*) from queries)
      + (select count(*) from tasks) + (select count(*) from bullmq.job)
    )::integer as left`)
  const beside = readdirSync(folder).filter((name) => name.includes('.rejected.'))
  return { code, stdout, said: stderr.trimEnd().split('\n'), left: rows[0]?.left, beside }
}

/** Expects a message of one line and exit code 2, and no rows or files. */
function refusal(said: string) {
  const line = expect.stringContaining(said) as unknown
  return { code: 2, stdout: '', said: [line], left: 0, beside: [] }
}

const utf16 = (text: string) => Buffer.from(text, 'utf16le')
const ascii = 'plain words,1\n'.repeat(50)
const wide = Array.from({ length: 5_000 }, (_, at) => `column ${at}`).join(',')
const emptyRows = () => Array.from({ length: 1_000_000 }, (_, at) => `<row r="${at + 1}"/>`)

const files = (
  [
    [
      'of 5,000 columns',
      'wide.csv',
      () => `${wide}\n${wide}\n`,
      'and 4988 more; possible columns: ',
    ],
    [
      'with half a character in UTF-16',
      'half16.csv',
      () =>
        Buffer.concat([utf16('\ufeffq\nred '), Buffer.from([0, 0xd8]), utf16(' shoes\nhats\n')]),
      'half16.csv: expected utf-16le throughout, got invalid bytes between offsets 2 and ',
    ],
    [
      'with half a character in UTF-8',
      'half8.csv',
      () =>
        Buffer.concat([Buffer.from('q\nred '), Buffer.from('eda080', 'hex'), Buffer.from('\n')]),
      'half8.csv:2: expected UTF-8 throughout, got an invalid byte at offset 6',
    ],
    [
      'of ASCII with one other byte',
      'byte.csv',
      () =>
        Buffer.concat([Buffer.from(`q,weight\n${ascii}`), Buffer.from('caf\u00e9,1\n', 'latin1')]),
      'byte.csv:52: expected UTF-8 throughout, got an invalid byte at offset 712: 0xE9 (as windows-1252: "café,1"); correct that line, specify the encoding',
    ],
    [
      'of a sheet with a million empty rows',
      'rows.xlsx',
      () => xlsxOf({ Terms: emptyRows().join('') }, []),
      'expected queries in rows.xlsx (Terms), got an empty file',
    ],
    ['of NUL alone', 'nuls.csv', () => Buffer.alloc(3_000), 'a control character in the query'],
    ['with NUL in its only line', 'nul.csv', () => 'q\nred\0shoes\n', 'a control character'],
    [
      'of one line of 10 MB',
      'line.csv',
      () => 'a'.repeat(10_000_000),
      'line.csv:1: expected lines',
    ],
    [
      'with a line of 10 MB',
      'late-line.csv',
      () => `q\nhats\n${'a'.repeat(10_000_000)}\nshoes\n`,
      'late-line.csv:3: expected lines of a query list, got a line longer than 1 MiB',
    ],
    [
      'that was compressed and ends early',
      'early.csv.gz',
      () => gzipSync(`q\n${ascii}`).subarray(0, 40),
      'expected early.csv.gz to be an intact compressed file, got a truncated or damaged one',
    ],
    [
      'in an archive with a path outside',
      'outside.zip',
      () => zipOf({ '../Queries.csv': 'q\nred shoes\n' }),
      'got an unreadable archive: invalid relative path',
    ],
    ['of a header alone', 'header.csv', () => 'q\n', 'got only a header'],
    ['of nothing', 'nothing.csv', () => '', 'got an empty file'],
  ] satisfies readonly (readonly [string, string, () => Buffer | string, string])[]
).map(([kind, file, make, said]) => ({ kind, file, make, said }))

describe('a list', () => {
  test.each(files)(
    '$kind is refused in one line and leaves nothing',
    async ({ file, make, said }) => {
      writeFileSync(path(file), make())
      expect(await outcomeOf(enqueue(file))).toEqual(refusal(said))
    },
  )

  test('that is a loop of links, a dead link, a folder, a pipe or a device is refused in one line and leaves nothing', async () => {
    symlinkSync(path('loop.csv'), path('loop.csv'))
    symlinkSync(path('nowhere'), path('gone.csv'))
    mkdirSync(path('folder.csv'))
    execFileSync('mkfifo', [path('pipe.csv')])
    expect(await outcomeOf(enqueue('loop.csv'))).toEqual(
      refusal('got a link to itself; choose another file'),
    )
    expect(await outcomeOf(enqueue('gone.csv'))).toEqual(
      refusal('got a path that does not exist; check the path'),
    )
    expect(await outcomeOf(enqueue('folder.csv'))).toEqual(
      refusal('got a folder; specify its files'),
    )
    expect(await outcomeOf(enqueue('pipe.csv'))).toEqual(
      refusal('got a pipe; pass it as standard input'),
    )
    expect(await outcomeOf(enqueue('/dev/zero'))).toEqual(
      refusal('got a device; specify a CSV file'),
    )
  })

  // A user who may read everything gets no error.
  test.skipIf(process.getuid?.() === 0)(
    'that may not be read is refused in one line and leaves nothing',
    async () => {
      writeFileSync(path('closed.csv'), 'q\nshoes\n')
      chmodSync(path('closed.csv'), 0)
      expect(await outcomeOf(enqueue('closed.csv'))).toEqual(
        refusal('got a file that you are not allowed to read'),
      )
    },
  )

  test.runIf(existsSync('/proc/self/fd')).each([
    ['grows', (file: string) => appendFileSync(file, 'one more\n')],
    ['shrinks', (file: string) => truncateSync(file, 500_000)],
  ])('that %s while it is read is refused in one line and leaves nothing', async (verb, change) => {
    const file = path(`${verb}.csv`)
    const lines = Array.from({ length: 300_000 }, (_, at) => `query number ${at}`)
    writeFileSync(file, `q\n${lines.join('\n')}\n`)
    const running = enqueue(`${verb}.csv`)
    // The change comes after the beginning has been read.
    await expect
      .poll(() => bytesRead(running.pid, file), { interval: 1 })
      .toBeGreaterThan(1_000_000)
    change(file)
    const { said, ...outcome } = await outcomeOf(running)
    // On a slow machine, the progress is printed.
    const refused = said.filter((line) => !line.startsWith(`reading ${verb}: `))
    expect({ ...outcome, said: refused }).toEqual(refusal('changed while it was being read'))
  })
})

/** Returns the number of bytes that a process has read from an open file. */
function bytesRead(pid: number, file: string): number {
  const open = `/proc/${pid}/fd`
  if (!existsSync(open)) return 0
  const name = readdirSync(open).find((one) => linkOf(join(open, one)) === file)
  if (name === undefined) return 0
  const [, position] =
    /^pos:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${name}`, 'utf8')) ?? []
  return Number(position ?? 0)
}

function linkOf(link: string): string | null {
  try {
    return readlinkSync(link)
  } catch {
    // The file was closed after it was listed.
    return null
  }
}
