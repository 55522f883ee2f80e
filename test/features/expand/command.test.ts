// @module-tag slow
// Output of the command for a user and for a program.
import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'
import { plant, rowsOf, seed } from './seed.ts'

describe('npm run expand', () => {
  test('shows the selection and the result of each round, until the credits are used', async () => {
    const { mill } = await openScene({ api: { credits: 200 } })
    await seed(mill, 'seeds', ['red shoes', 'green boots'])
    const expandOnce = (...more: string[]) =>
      run('expand', ['--list', 'seeds', '--credits', '8', '--depth', '2', ...more], mill.env)
    const tried = await expandOnce()
    expect(tried).toMatchObject({ code: 0, stderr: '' })
    expect(tried.stdout).toContain(
      'from        2 answers of the list "seeds", which contain 16 related',
    )
    expect(tried.stdout).toContain('cost        4 calls, about 4 credits, at most 4; all rounds')
    expect(tried.stdout).toContain('balance     198 now, 194 after; credit floor: 100')
    expect(tried.stdout).toContain('nothing was changed; to go ahead, add --yes')
    expect((await expandOnce('--yes')).stdout).toContain(
      'round 1 of 2: 4 queries in the list "seeds-expanded", run 2',
    )
    expect((await expandOnce('--yes')).stdout).toContain(
      'round 1 is queued; the next round waits for answers to 4 queries in the list "seeds-expanded"',
    )
    await mill.drain()
    expect((await expandOnce('--yes')).stdout).toContain(
      'from        4 answers of round 1, which contain 32 related',
    )
    await mill.drain()
    const { code, stdout } = await expandOnce('--yes')
    expect(code).toBe(3)
    expect(stdout).toMatch(
      /^round 2 found \d+\.\d new domains per credit, compared with \d+\.\d in the previous round$/m,
    )
    expect(stdout).toContain('8 of 8 credits have been used')
  })

  test('reports the same to a program in one object', async () => {
    const { mill } = await openScene()
    await seed(mill, 'seeds', ['red shoes', 'green boots'])
    const flags = [
      '--list',
      'seeds',
      '--credits',
      '5',
      '--as',
      'more',
      '--not',
      'green',
      '--yes',
      '--json',
    ]
    const { code, stdout, stderr } = await run('expand', flags, mill.env)
    expect(code).toBe(0)
    expect(stderr).toContain('left out: ')
    const told: unknown = JSON.parse(stdout)
    expect(told).toMatchObject({
      list: 'seeds',
      into: 'more',
      state: 'queued',
      dry_run: false,
      round: 1,
      depth: 1,
      run: 2,
      credits: { limit: 5, used: 0, left: 5 },
      taken: 5,
      candidates: 16,
      estimate: { credits: 5, worst: 5, basis: 'seen' },
      rounds: [{ round: 1, queries: 5, open: 5, answers: 0, new_domains_per_credit: null }],
    })
    expect(told).toHaveProperty('queries[0].from_q', 'red shoes')
  })

  test('leaves an open round at most the credits that were last given', async () => {
    const { api, mill } = await openScene()
    await seed(mill, 'seeds', ['red shoes', 'green boots'])
    const type = (credits: string, ...more: string[]) =>
      run('expand', ['--list', 'seeds', '--credits', credits, ...more], mill.env)
    expect((await type('10', '--yes')).code).toBe(0)
    expect((await type('4')).stdout).not.toContain('credits in total')
    const again = await type('4', '--yes')
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('run 2 may now use at most 4 credits in total'),
    })
    expect((await type('9', '--yes')).stdout).not.toContain('credits in total')
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 4 })
    expect(api.charges()).toHaveLength(2 + 4)
    expect(await type('4')).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('4 of 4 credits have been used'),
    })
  })

  test('shows by its exit code that the purchase would reach the credit floor', async () => {
    const { mill } = await openScene({ api: { credits: 110 } })
    await seed(mill, 'seeds', ['red shoes', 'green boots'])
    const flags = ['--list', 'seeds', '--credits', '15']
    const { code, stdout } = await run('expand', flags, mill.env)
    expect(stdout).toContain('108 now, 93 after; credit floor: 100; work stops at the floor')
    expect(code).toBe(3)
  })

  test('refuses invalid arguments with exit code 2, and adds nothing', async () => {
    const { mill } = await openScene()
    await plant(mill, 'bare', ['query', 'shoes'])
    await plant(mill, 'seeds', ['query', 'boots'])
    await plant(mill, 'seeds-expanded', ['query', 'socks'])
    const lines = [
      ['--credits', '5'],
      ['--list', 'bare'],
      ['--list', 'bare', '--credits', '0'],
      ['--list', 'bare', '--credits', '5', '--match', '/(/'],
      ['--list', 'nobody', '--credits', '5'],
      ['--list', 'bare', '--credits', '5'],
      ['--list', 'seeds', '--credits', '5'],
    ]
    const said: string[] = []
    for (const flags of lines) {
      const { code, stderr } = await run('expand', flags, mill.env)
      said.push(`${code} ${/^error: (.{30})/m.exec(stderr)?.[1]}`)
    }
    expect(said).toEqual([
      '2 expected --list with a list na',
      '2 expected --credits with the ma',
      '2 expected --credits to be a who',
      '2 expected --match to be words o',
      '2 expected --list to be the name',
      '2 expected readable answers to q',
      '2 the list name "seeds-expanded"',
    ])
    expect(await rowsOf(mill, 'select from expansions')).toEqual([])
  })

  test('refuses to expand an expanded list, and names the list to use instead', async () => {
    const { mill } = await openScene()
    await seed(mill, 'seeds', ['red shoes'])
    await run('expand', ['--list', 'seeds', '--credits', '2', '--yes'], mill.env)
    const again = ['--list', 'seeds-expanded', '--credits', '2']
    const { code, stderr } = await run('expand', again, mill.env)
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(
        'contains related searches of "seeds"; to continue from these searches, expand "seeds"',
      ),
    ])
  })

  test('says what was left out when nothing is left to buy', async () => {
    const { mill } = await openScene()
    await seed(mill, 'seeds', ['red shoes'])
    const flags = ['--list', 'seeds', '--credits', '2', '--match', 'zebra']
    const { code, stdout } = await run('expand', flags, mill.env)
    expect([code, stdout]).toEqual([
      0,
      'nothing is left to buy; the answers for the list "seeds" contain 8 related texts that you have never bought; left out: 8 by --match and --not\n',
    ])
  })
})
