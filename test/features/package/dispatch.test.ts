// @module-tag slow
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { groups, namesIn } from '../../../src/base/cli/commands.ts'
import { root } from '../../../src/base/root.ts'
import { start } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'

const { version } = z
  .looseObject({ version: z.string() })
  .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))

const away = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }

const querymill = (...args: readonly string[]) => start('querymill', args, away).ended

describe('querymill, the program of the package', () => {
  test.each([[[]], [['--help']], [['help']]])(
    'describes the everyday commands, and lists the others by purpose, for %j',
    async (args) => {
      const { code, stdout } = await querymill(...args)
      expect(code).toBe(0)
      const [everyDay, ...others] = groups
      const sections = stdout.split('\n\n')
      const first = sections.find((section) => section.startsWith('Every day:')) ?? ''
      const told = first
        .replace(/\n {6,}/g, ' ')
        .split('\n')
        .slice(1)
      expect(told.map((line) => line.trim().split(/ {2,}/))).toEqual(
        Object.entries(everyDay?.commands ?? {}).map(([name, { about }]) => [name, about]),
      )
      const named = sections.find((section) => section.startsWith('Others:')) ?? ''
      const lines = named.split('\n').slice(1)
      expect(lines.map((line) => line.trim().split(/:? {2,}/))).toEqual(
        others.map((group) => [group.word ?? group.title, [...namesIn(group).keys()].join(', ')]),
      )
    },
  )

  test('prints its version', async () => {
    expect(await querymill('--version')).toMatchObject({ code: 0, stdout: `${version}\n` })
  })

  test('refuses an unknown command, with exit code 2', async () => {
    expect(await querymill('toString')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: "error: unknown command 'toString'\nnpx querymill --help lists all commands\n",
    })
  })

  test.each([
    [['statu'], 'status'],
    [['retri'], 'retry'],
    [['crdits'], 'credits'],
    [['run', 'retri'], 'retry'],
    [['service', 'kyes'], 'keys'],
    [['help', 'schedul'], 'schedule'],
    [['help', 'admin', 'migrat'], 'migrate'],
  ])('suggests the command that was probably meant with %j', async (args, meant) => {
    expect(await querymill(...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`(Did you mean ${meant}?)`),
    })
  })

  const grouped = groups.flatMap((group) =>
    group.word === undefined
      ? []
      : [...namesIn(group)].map(([name, starts]) => ({ words: [group.word ?? '', name], starts })),
  )

  test.each(grouped)('starts $starts with $words', async ({ words, starts: [name] }) => {
    const { code, stdout, stderr } = await querymill(...words, '--no-such-flag')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('--no-such-flag')
    expect(stderr).toContain(`(npm run ${name} -- --help lists the flags)`)
  })

  test('hands a grouped word its arguments, and the flag that it stands for', async () => {
    expect((await querymill('run', 'retry', 'no-number')).stderr).toContain('too many arguments')
    const { mill } = await openScene()
    const show = await start('querymill', ['schedule', 'show', '--json'], mill.env).ended
    expect(show).toMatchObject({ code: 0, stdout: expect.stringContaining('"schedules"') })
  })

  test('explains a grouped command that is named after help', async () => {
    const { code, stdout } = await querymill('help', 'run', 'retry')
    expect([code, stdout]).toEqual([0, expect.stringContaining('Usage: npm run retry --')])
  })

  test.each([['credits'], ['service']])('lists the names behind %s', async (word) => {
    const { code, stdout } = await querymill('help', word)
    expect(code).toBe(0)
    const group = groups.find((one) => one.word === word)
    for (const name of group === undefined ? [] : namesIn(group).keys()) {
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
    }
  })

  test('starts the service by its own name, whose flags may follow at once', async () => {
    const { stdout } = await querymill('service', '--help')
    expect(stdout).toContain('Usage: npm run service --')
  })

  test('explains a command that is named after help, and refuses an unknown one', async () => {
    const [help, same] = [await querymill('help', 'work'), await querymill('work', '--help')]
    expect([help.code, help.stdout]).toEqual([0, same.stdout])
    expect(help.stdout).toContain('--drain')
    expect(await querymill('help', 'nothing')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown command 'nothing'"),
    })
  })

  test.each(['status', 'enqueue'])(
    'passes %s its flags and returns its exit code, with memory limits and without',
    async (name) => {
      const { code, stdout } = await querymill(name, '--help')
      expect([code, stdout]).toEqual([0, expect.stringContaining(`Usage: npm run ${name} --`)])
      const refused = await querymill(name, '--no-such-flag')
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--no-such-flag')])
    },
  )

  test('limits the memory of a command as npm run does, and passes on the signal that ends it', async () => {
    const { mill } = await openScene()
    const desk = start('querymill', ['desk', '--port', '0'], mill.env)
    await desk.line('http://127.0.0.1')
    const children = readFileSync(`/proc/${desk.pid}/task/${desk.pid}/children`, 'utf8').trim()
    const words = readFileSync(`/proc/${children}/cmdline`, 'utf8').split('\0')
    expect(words).toContain('--max-old-space-size=128')
    desk.kill('SIGTERM')
    expect((await desk.ended).code).toBe(0)
  })
})
