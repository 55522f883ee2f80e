// @module-tag slow
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { groups } from '../../../src/base/cli/commands.ts'
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
    'shows all commands by their purpose, those of every day first, when asked with %j',
    async (args) => {
      const { code, stdout } = await querymill(...args)
      expect(code).toBe(0)
      const sections = stdout.split('\n\n').slice(1, -1)
      const shown = sections.map((section) => {
        const [title = '', ...lines] = section.split('\n')
        return [title, lines.map((line) => line.trim().split(/ {2,}/))]
      })
      expect(shown).toEqual(
        Object.entries(groups).map(([title, group]) => [
          `${title}:`,
          Object.entries(group).map(([name, { about }]) => [name, about]),
        ]),
      )
      expect(shown[0]?.[0]).toBe('Every day:')
    },
  )

  test('tells its version', async () => {
    expect(await querymill('--version')).toMatchObject({ code: 0, stdout: `${version}\n` })
  })

  test('refuses a command that it does not have, with exit code 2', async () => {
    expect(await querymill('toString')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: expected a command, got "toString"; npx querymill --help shows them all\n',
    })
  })

  test.each(['status', 'enqueue'])(
    'hands %s its flags and gives back its exit code, with bounds for its memory and without',
    async (name) => {
      const { code, stdout } = await querymill(name, '--help')
      expect([code, stdout]).toEqual([0, expect.stringContaining(`Usage: npm run ${name} --`)])
      const refused = await querymill(name, '--no-such-flag')
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--no-such-flag')])
    },
  )

  test('bounds the memory of a command as npm run does, and passes on the signal that ends it', async () => {
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
