// @module-tag slow
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { platform } from 'node:process'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import {
  ensurePostgres,
  findPostmaster,
  postgresStatus,
  stopPostgres,
} from '../../../src/base/embedded/postgres.ts'
import { canEnter } from '../../../src/base/embedded/process.ts'
import { openHome } from '../../../src/base/embedded/state.ts'
import { Unreachable, WrongDatabase } from '../../../src/base/errors.ts'
import { root } from '../../../src/base/root.ts'
import { compiledFrom } from '../../support/job.ts'
import { patienceMs } from '../../support/patience.ts'
import { temporaryFolder } from '../../support/place.ts'
import { ask, endHomes, newHome, startChild } from './homes.ts'

afterEach(endHomes)

const isRoot = process.getuid?.() === 0
const nobody = { uid: 65_534, gid: 65_534 }

// The data of these tests may be lost if the machine crashes.
const tuning = { fsync: 'off' }

function ensure(home: string, options: Parameters<typeof ensurePostgres>[1] = {}) {
  return ensurePostgres(home, { tuning, ...options })
}

function pidOf(data: string): number {
  const found = findPostmaster(data)
  if (found === null) throw new Error(`expected a server on ${data}, got none`)
  return found.pid
}

describe('the embedded PostgreSQL', () => {
  test('a first start creates a database that supports every language and sorts the same everywhere', async () => {
    const lines: string[] = []
    const { url, started } = await ensure(newHome(), { say: (line) => lines.push(line) })
    expect(started).toBe(true)
    expect(lines).toEqual([expect.stringContaining('the first start')])
    const found = await ask(
      url,
      `select
        current_database() as name,
        current_setting('server_encoding') as encoding,
        lower('ÅÉ') as lower,
        array(select x from unnest(array['b', 'B', 'a', 'ä']) x order by x) as sorted,
        current_setting('timezone') as zone,
        current_setting('synchronous_commit') as commits`,
    )
    expect(found).toEqual({
      name: 'querymill',
      encoding: 'UTF8',
      lower: 'åé',
      sorted: ['B', 'a', 'b', 'ä'],
      zone: 'UTC',
      commits: 'on',
    })
  })

  test('only this machine can reach it, with a password that only its user can read', async () => {
    const home = newHome()
    const { url, data } = await ensure(home)
    const found = await ask(
      url,
      `select
        current_setting('listen_addresses') as addresses,
        current_setting('unix_socket_directories') as sockets,
        (select count(*)::text from pg_hba_file_rules where auth_method <> 'scram-sha-256') as doors`,
    )
    expect(found).toEqual({ addresses: '127.0.0.1', sockets: '', doors: '0' })
    expect(statSync(data).mode & 0o777).toBe(0o700)
    expect(statSync(join(home, 'postgres.json')).mode & 0o777).toBe(0o600)
    const wrong = new URL(url)
    wrong.password = 'guess'
    await expect(ask(wrong.href, 'select 1')).rejects.toThrow(/password/)
  })

  test('a second command finds the server of the first', async () => {
    const home = newHome()
    const first = await ensure(home)
    const second = await ensure(home)
    expect(second).toEqual({ ...first, started: false })
    expect(await postgresStatus(home)).toEqual({ running: true, url: first.url, data: first.data })
  })

  test('of two commands that start at once, in a locale without letters, one starts the server for both', async () => {
    const home = newHome()
    const answers = await Promise.all([1, 2].map(() => startChild(home).answer))
    expect(answers.filter((one) => one.started)).toHaveLength(1)
    expect(answers[0]?.url).toBe(answers[1]?.url)
    expect(await ask(answers[0]?.url ?? '', 'show server_encoding')).toEqual({
      server_encoding: 'UTF8',
    })
  })

  test('Ctrl-C in the command that started it leaves it running', async () => {
    const home = newHome()
    const child = startChild(home, { stay: true })
    const { url } = await child.answer
    const ended = once(child.process, 'exit')
    process.kill(-(child.process.pid ?? Number.NaN), 'SIGINT')
    await ended
    expect(await ask(url, 'select 1 as one')).toEqual({ one: 1 })
  })

  test('after kill -9 of the server, the next command starts it with all committed data', async () => {
    const home = newHome()
    const first = await ensure(home)
    await ask(first.url, 'create table kept as select 42 as number')
    process.kill(pidOf(first.data), 'SIGKILL')
    const second = await ensure(home)
    expect(second.started).toBe(true)
    expect(await ask(second.url, 'select number from kept')).toEqual({ number: 42 })
  })

  test('a stale pid file whose pid now belongs to another process does not prevent the next start', async () => {
    const home = newHome()
    const { url, data } = await ensure(home)
    const mark = readFileSync(join(data, 'postmaster.pid'), 'utf8')
    expect(await stopPostgres(home)).toBe(true)
    writeFileSync(join(data, 'postmaster.pid'), mark.replace(/^\d+/, String(process.pid)))
    if (isRoot) chownSync(join(data, 'postmaster.pid'), statSync(data).uid, statSync(data).gid)
    expect((await postgresStatus(home)).running).toBe(false)
    expect(await ensure(home)).toEqual({ url, data, started: true })
  })

  test('a server whose port was taken by another program moves to another port', async () => {
    const home = newHome()
    const first = await ensure(home)
    await ask(first.url, 'create table kept as select 42 as number')
    await stopPostgres(home)
    const stranger = createServer().listen(Number(new URL(first.url).port), '127.0.0.1')
    await once(stranger, 'listening')
    const second = await ensure(home)
    stranger.close()
    expect(new URL(second.url).port).not.toBe(new URL(first.url).port)
    expect(await ask(second.url, 'select number from kept')).toEqual({ number: 42 })
  })

  test('a server of another home on the stored port is not mistaken for this one', async () => {
    const [one, other] = [newHome(), newHome()]
    const first = await ensure(one)
    await ensure(other)
    await stopPostgres(other)
    const state = JSON.parse(readFileSync(join(other, 'postgres.json'), 'utf8')) as object
    const moved = { ...state, port: Number(new URL(first.url).port) }
    writeFileSync(join(other, 'postgres.json'), JSON.stringify(moved))
    const second = await ensure(other)
    expect(second.started).toBe(true)
    expect(second.url).not.toBe(first.url)
  })

  test('data of another PostgreSQL release is refused in one line', async () => {
    const home = newHome()
    const { data } = await ensure(home)
    await stopPostgres(home)
    writeFileSync(join(data, 'PG_VERSION'), '12\n')
    await expect(ensure(home)).rejects.toThrow(/data from PostgreSQL 12.*npm run export/)
    await expect(ensure(home)).rejects.toBeInstanceOf(WrongDatabase)
  })

  test('a deleted data folder is created again', async () => {
    const home = newHome()
    const first = await ensure(home)
    await stopPostgres(home)
    rmSync(first.data, { recursive: true })
    const second = await ensure(home)
    expect(second.started).toBe(true)
    expect(await ask(second.url, 'select 1 as one')).toEqual({ one: 1 })
  })

  test('a server that cannot start reports its own error message', async () => {
    const home = newHome()
    const { data } = await ensure(home)
    await stopPostgres(home)
    rmSync(join(data, 'global', 'pg_control'))
    const failed = ensure(home, { patienceMs: 500 })
    await expect(failed).rejects.toThrow(/pg_control/)
    await expect(failed).rejects.toBeInstanceOf(Unreachable)
  })

  test('a home that cannot be created is reported as an invalid setting', async () => {
    await expect(ensurePostgres('/dev/null/home')).rejects.toThrow(/MILL_HOME: expected a folder/)
  })

  test.runIf(platform === 'linux')(
    'a home where the system does not allow folders is refused at once',
    async () => {
      // In a separate process, because a failure would loop forever.
      const files = compiledFrom('src/base/embedded/state.ts')
      const script = `import(${JSON.stringify(files)}).then(({ openHome }) => openHome('/proc/x/home'))`
      const tried = promisify(execFile)(process.execPath, ['--eval', script], {
        cwd: root,
        timeout: patienceMs,
        killSignal: 'SIGKILL',
      })
      await expect(tried).rejects.toThrow(/MILL_HOME: expected a folder that can be created/)
    },
  )

  test('a home with missing parents is created with them', async () => {
    const home = join(newHome(), 'a', 'b')
    expect(openHome(home)).toBe(realpathSync(home))
    expect(openHome(home)).toBe(realpathSync(home))
  })

  test.runIf(isRoot)(
    'root lets another user run it, and the data still belong to that user',
    async () => {
      const { url, data } = await ensure(newHome())
      expect(statSync(data).uid).not.toBe(0)
      expect(await ask(url, 'select 1 as one')).toEqual({ one: 1 })
    },
  )

  test.runIf(isRoot)(
    'a home that only root can enter puts its data where the server can read them',
    async () => {
      const closed = temporaryFolder('closed')
      const home = join(closed, 'home')
      chmodSync(closed, 0o700)
      const first = await ensure(home)
      try {
        expect(first.data.startsWith(closed)).toBe(false)
        expect(await ensure(home)).toEqual({ ...first, started: false })
      } finally {
        await stopPostgres(home)
        rmSync(dirname(first.data), { recursive: true })
        rmSync(closed, { recursive: true })
      }
    },
  )

  test('a user without any rights can start it', async ({ skip }) => {
    if (!isRoot) return
    if (!(await canEnter(nobody, root))) skip(`${root} is closed to other users`)
    const home = newHome()
    chownSync(home, nobody.uid, nobody.gid)
    const answer = await startChild(home, { user: nobody }).answer
    expect(answer).toMatchObject({ started: true, uid: nobody.uid })
    // Root uses the home of another user: the server keeps running as that user.
    expect(await ensure(home)).toMatchObject({ url: answer.url, started: false })
    expect(await stopPostgres(home)).toBe(true)
    expect(await ensure(home)).toMatchObject({ url: answer.url, started: true })
  })
})
