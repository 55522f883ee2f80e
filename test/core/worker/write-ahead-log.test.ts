import { spawnSync } from 'node:child_process'
import fs, {
  fstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  readAbandonedLogs,
  setLogAside,
  WriteAheadLog,
} from '../../../src/core/worker/write-ahead-log.ts'
import { answer, lost, unsent } from './pieces.ts'

const provenance = { origin: 'live', api: 'api.example' } as const
const leaseMs = 60_000

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-log-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function openLog(folder: string, { installation = 'mill', bytes = 100_000 } = {}) {
  return new WriteAheadLog({ folder, installation, provenance, bytes })
}

/** The pid of a process that has ended. */
function deadProcess(): number {
  return spawnSync(process.execPath, ['--version']).pid
}

/** Assigns the files to another process, as if this one had never written to them. */
function disown(folder: string, owner: string): void {
  for (const name of readdirSync(folder).filter((each) => each.includes(`-${process.pid}-`))) {
    renameSync(
      join(folder, name),
      join(folder, name.replace(`${hostname()}-${process.pid}`, owner)),
    )
  }
}

/** Reads what the next worker finds in a folder after this process was killed. */
function readAfterKill(folder: string, installation = 'mill') {
  disown(folder, `${hostname()}-${deadProcess()}`)
  return readAbandonedLogs(folder, { installation, leaseMs })
}

function repliesIn(folder: string) {
  return readAfterKill(folder).flatMap(({ replies }) => replies)
}

const name = (id: number) => ({ id, mark: `mark ${id}` })
/** A complete response of this size. */
const large = (bytes: number) => answer({ pad: 'x'.repeat(bytes) })

describe('a reply in the log', () => {
  test('is found after the process was killed, as it was received, with the API that it came from', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    const partial = Buffer.from([0, 255, 10, 13])
    const received = [answer(), lost(partial), lost(), unsent('ECONNREFUSED')]
    await Promise.all(received.map((reply, index) => log.append(name(index), reply)))
    const found = readAfterKill(folder).find(({ replies }) => replies.length > 0)
    expect(found?.torn).toBe(0)
    expect(found?.replies[0]?.provenance).toEqual(provenance)
    expect(found?.replies.map(({ call }) => call)).toEqual([0, 1, 2, 3].map(name))
    found?.replies.forEach(({ reply }, index) => expect(reply).toMatchObject(received[index] ?? {}))
  })

  test('is readable only for its owner', async () => {
    const folder = openFolder()
    await openLog(folder).append(name(1), answer())
    for (const file of readdirSync(folder))
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
  })

  test('is removed once the database has it, even while others wait', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    for (let id = 1; id <= 40; id += 1) await log.append(name(id), large(5_000))
    log.settle(Array.from({ length: 40 }, (_, index) => index + 1))
    await log.append(name(41), answer())
    expect(repliesIn(folder).map(({ call }) => call.id)).toEqual([41])
  })

  test('is not read again once it is settled, even if a newer reply ends where it begins', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    for (const id of [1, 2, 3]) await log.append(name(id), large(5_000))
    log.settle([1, 2, 3])
    await log.append(name(4), large(5_000))
    expect(repliesIn(folder).map(({ call }) => call.id)).toEqual([4])
  })

  test('that arrives a second time for its call counts once', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    await log.append(name(1), lost())
    await log.append(name(1), answer())
    log.settle([1])
    expect(repliesIn(folder)).toEqual([])
  })

  test('is written together with the other replies of its turn of the event loop', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    const writes = vi.spyOn(fs, 'writevSync')
    syncBuiltinESMExports()
    onTestFinished(() => {
      writes.mockRestore()
      syncBuiltinESMExports()
    })
    const ids = [1, 2, 3, 4]
    const appended = ids.map((id) => log.append(name(id), id === 4 ? lost() : large(5_000)))
    expect(repliesIn(folder)).toEqual([])
    await appended[0]
    expect(writes).toHaveBeenCalledTimes(1)
    expect(repliesIn(folder).map(({ call }) => call.id)).toEqual(ids)
    await Promise.all(appended)
  })

  test('is lost alone if the disk did not write it completely, and is counted', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    for (const id of [1, 2, 3]) await log.append(name(id), answer({ second: id === 2 }))
    const files = readdirSync(folder).map((each) => join(folder, each))
    const file = files.find((each) => readFileSync(each).includes('"second"')) ?? ''
    const bytes = readFileSync(file)
    bytes.fill(0, bytes.indexOf('"second":true'), bytes.indexOf('"second":true') + 8)
    writeFileSync(file, bytes)
    const found = readAfterKill(folder).find(({ replies }) => replies.length > 0)
    expect(found?.replies.map(({ call }) => call.id)).toEqual([1, 3])
    expect(found?.torn).toBe(1)
  })
})

/** Delays every flush of a file in the folder; each entry of the result ends one. */
function holdFlushes(folder: string): (() => void)[] {
  const held: (() => void)[] = []
  const isIn = (handle: number) =>
    readdirSync(folder).some((file) => statSync(join(folder, file)).ino === fstatSync(handle).ino)
  const { fdatasync } = fs
  const spy = vi.spyOn(fs, 'fdatasync')
  spy.mockImplementation((handle, done) => {
    if (isIn(handle)) held.push(() => done?.(null))
    else fdatasync(handle, done)
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
  return held
}

test('a reply that arrives during a flush is flushed too, even if none arrives after it', async () => {
  const folder = openFolder()
  const flushes = holdFlushes(folder)
  const log = openLog(folder)
  await log.append(name(1), answer())
  await expect.poll(() => flushes.length).toBe(1)
  await log.append(name(2), answer())
  flushes[0]?.()
  await expect.poll(() => flushes.length).toBe(2)
  flushes[1]?.()
  await log.close()
})

describe('the disk space of a log', () => {
  test('is allocated at the start and reused, as long as no more replies wait than fit', async () => {
    const folder = openFolder()
    const log = openLog(folder, { bytes: 200_000 })
    const sizes = () => readdirSync(folder).map((file) => statSync(join(folder, file)))
    for (const { size, blocks } of sizes()) {
      expect(size).toBeGreaterThanOrEqual(100_000)
      expect(blocks * 512).toBeGreaterThanOrEqual(100_000)
    }
    const before = sizes().reduce((sum, { size }) => sum + size, 0)
    for (let id = 1; id <= 200; id += 1) {
      await log.append(name(id), large(10_000))
      // Five replies always wait, so that the log is never empty.
      log.settle([id - 5])
    }
    expect(sizes().reduce((sum, { size }) => sum + size, 0)).toBe(before)
    expect(repliesIn(folder).map(({ call }) => call.id)).toEqual(
      expect.arrayContaining([196, 197, 198, 199, 200]),
    )
  })

  test('grows for replies that do not fit', async () => {
    const folder = openFolder()
    const log = openLog(folder, { bytes: 1_000 })
    for (const id of [1, 2, 3]) await log.append(name(id), large(200_000))
    // Files have random names, so only the replies within one file are in order.
    expect(
      repliesIn(folder)
        .map(({ call }) => call.id)
        .toSorted((one, other) => one - other),
    ).toEqual([1, 2, 3])
  })

  test('is released at the end, without leaving an empty file', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    await log.append(name(1), answer())
    log.settle([1])
    expect(await log.close()).toEqual({ files: [], calls: new Set() })
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('a log that is closed', () => {
  test('leaves one file, no larger than its content', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    await log.append(name(1), answer())
    const { files, calls } = await log.close()
    expect(readdirSync(folder).map((file) => join(folder, file))).toEqual(files)
    expect([...calls]).toEqual([1])
    expect(statSync(files[0] ?? '').size).toBeLessThan(1_000)
    expect(readAbandonedLogs(folder, { installation: 'mill', leaseMs })).toHaveLength(1)
  })

  test('has its replies in a file again if someone removed it', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    await log.append(name(1), answer())
    for (const file of readdirSync(folder)) rmSync(join(folder, file))
    await log.close()
    const found = readAbandonedLogs(folder, { installation: 'mill', leaseMs })
    expect(found.flatMap(({ replies }) => replies.map(({ call }) => call.id))).toEqual([1])
  })

  test('names no file if something else has replaced its folder', async () => {
    const folder = join(openFolder(), 'spool')
    const log = openLog(folder)
    await log.append(name(1), answer())
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'no folder any more')
    expect(await log.close()).toEqual({ files: [], calls: new Set() })
  })
})

describe('logs to be read', () => {
  test('are those of one database whose process is gone, or that were not touched for a lease', async () => {
    const folder = openFolder()
    const dead = deadProcess()
    const open = async (id: number, owner: string | null, installation = 'mill') => {
      const log = openLog(folder, { installation })
      await log.append(name(id), answer())
      if (owner !== null) disown(folder, owner)
    }
    await open(1, `${hostname()}-${dead}`)
    await open(2, `${hostname()}-${process.ppid}`)
    await open(3, `elsewhere-${dead}`)
    await open(4, `${hostname()}-${dead}`, 'other')
    await open(5, `forgotten-${dead}`)
    await open(6, `${hostname()}-${process.ppid}-old`)
    const longAgo = new Date(Date.now() - 2 * leaseMs)
    for (const file of readdirSync(folder).filter((each) => /forgotten|-old-/.test(each)))
      utimesSync(join(folder, file), longAgo, longAgo)
    // The last one is open in this process.
    await openLog(folder).append(name(7), answer())
    const found = readAbandonedLogs(folder, { installation: 'mill', leaseMs })
    const ids = found.flatMap(({ replies }) => replies.map(({ call }) => call.id))
    expect(ids.toSorted((a, b) => a - b)).toEqual([1, 5, 6])
  })

  test('exclude those that a heartbeat has touched', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    await log.append(name(1), answer())
    const longAgo = new Date(Date.now() - 2 * leaseMs)
    for (const file of readdirSync(folder)) utimesSync(join(folder, file), longAgo, longAgo)
    log.touch()
    disown(folder, 'elsewhere-1')
    expect(readAbandonedLogs(folder, { installation: 'mill', leaseMs })).toEqual([])
  })

  test('are none if there is no folder', () => {
    const folder = join(openFolder(), 'nothing')
    expect(readAbandonedLogs(folder, { installation: 'mill', leaseMs })).toEqual([])
  })

  test('get another name when they are set aside, so that no worker reads them', async () => {
    const folder = openFolder()
    const log = openLog(folder)
    await log.append(name(1), answer())
    const { files } = await log.close()
    const aside = setLogAside(files[0] ?? '')
    // Another worker was faster.
    expect(setLogAside(files[0] ?? '')).toBe(aside)
    expect(readAbandonedLogs(folder, { installation: 'mill', leaseMs })).toEqual([])
    expect(readdirSync(folder).map((file) => join(folder, file))).toEqual([aside])
  })
})
