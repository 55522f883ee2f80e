// @module-tag slow
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { processEnvironment, readConfig } from '../../src/base/config.ts'
import { root } from '../../src/base/root.ts'
import { has } from '../support/parts.ts'

const folder = join(root, 'docs', 'deploy')
const units = readdirSync(folder).filter((name) => /\.(service|timer)$/.test(name))
const services = units.filter((name) => name.endsWith('.service'))
const hasSystemd = has('systemd-analyze')

// The units use the usual path of node, which may differ on this machine.
const copies = mkdtempSync(join(tmpdir(), 'querymill-units-'))
for (const name of units) {
  const text = readUnit(name).replaceAll('/usr/bin/node', process.execPath)
  writeFileSync(join(copies, name), text)
}
afterAll(() => rmSync(copies, { recursive: true }))

function readUnit(name: string): string {
  return readFileSync(join(folder, name), 'utf8')
}

function value(name: string, key: string): string | undefined {
  return new RegExp(`^${key}=(.*)$`, 'm').exec(readUnit(name))?.[1]
}

function verify(file: string): { status: number | null; said: string } {
  const { PATH } = processEnvironment()
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
    encoding: 'utf8',
    env: { PATH, SYSTEMD_UNIT_PATH: `${copies}:` },
  })
  return { status, said: `${stdout}${stderr}` }
}

describe('the systemd units', () => {
  test.skipIf(!hasSystemd).each(units)('%s is accepted by systemd without a warning', (name) => {
    expect(verify(join(copies, name))).toEqual({ status: 0, said: '' })
  })

  test.skipIf(!hasSystemd)('an error in one of them would be noticed', () => {
    const broken = join(copies, 'broken.service')
    writeFileSync(broken, '[Service]\nExecStart=/nowhere/node\nRestrat=always\n')
    expect(verify(broken).said).not.toBe('')
  })

  test.each(services)('%s starts an existing program, and not through npm', (name) => {
    const start = value(name, 'ExecStart') ?? ''
    const job = /^\/usr\/bin\/node (?:--[\w-]+=\d+ )?dist\/jobs\/(\w+)\.js/.exec(start)?.[1]
    expect(existsSync(join(root, 'jobs', `${job}.ts`))).toBe(true)
  })

  test.each(services)('%s gets no key in its environment', (name) => {
    expect(readUnit(name)).not.toMatch(/SEARCH_API_KEY=/)
  })

  test('a worker that is told to stop has longer than a call takes', () => {
    const seconds = Number(value('querymill-work.service', 'TimeoutStopSec'))
    expect(seconds * 1000).toBeGreaterThan(readConfig({}).timeoutMs + 30_000)
  })

  test('the timer makes up for the time that the machine was off', () => {
    expect(value('querymill-nightly.timer', 'Persistent')).toBe('true')
    const unit = value('querymill-nightly.timer', 'Unit') ?? ''
    expect(services).toContain(unit)
    expect(value(unit, 'ExecStart')).toMatch(/ --once$/)
  })
})
