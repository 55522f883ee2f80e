import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../src/base/root.ts'
import { emptyUrl } from '../support/database.ts'
import { run } from '../support/run.ts'
import { temporaryFolder } from '../support/place.ts'

/** The commands of the first code block below a heading. */
function commandsBelow(heading: string): { name: string; args: string[] }[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const block = readme.split(`## ${heading}\n`)[1]?.split('```')[1] ?? ''
  return [...block.matchAll(/^npm run (\S+)(?: --)?(.*)$/gm)].map(([, name = '', args = '']) => {
    return { name, args: args.trim().split(' ').filter(Boolean) }
  })
}

test('the commands of the README lead from an empty database to a plan', async () => {
  const commands = commandsBelow('Use your API')
  const plan = commands.findIndex(({ args }) => args.includes('--dry-run'))
  expect(plan).toBeGreaterThanOrEqual(0)
  const env = {
    DATABASE_URL: await emptyUrl(),
    MILL_HOME: temporaryFolder('readme'),
    INIT_CWD: root,
  }
  for (const { name, args } of commands.slice(0, plan + 1)) {
    const { code, stderr } = await run(name, args, env)
    expect([name, code, stderr.match(/^error.*/gm)]).toEqual([name, 0, null])
  }
})
