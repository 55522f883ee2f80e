import { describe, expect, test } from 'vitest'
import { asTyped } from '../../../src/base/cli/commands.ts'

const fromPackage = (text: string) => asTyped(text, 'npx querymill ')

describe('the command to type', () => {
  test('has the form of a checkout in a checkout', () => {
    const text = 'top up, then: npm run resume -- --forget-prices'
    expect(asTyped(text, 'npm run ')).toBe(text)
  })

  test.each([
    ['then: npm run resume', 'then: npx querymill resume'],
    ['npm run -s work -- --drain --json', 'npx querymill work --drain --json'],
    [
      'npm run sql -- share_of_voice; npm run sql',
      'npx querymill sql share_of_voice; npx querymill sql',
    ],
    ['npm run work --', 'npx querymill work'],
    ['npm run enqueue inputs/keywords.csv', 'npx querymill enqueue YOUR.csv'],
    ['cat q.txt | npm run -s enqueue -- - --as q', 'cat q.txt | npx querymill enqueue - --as q'],
  ])('is the one program of a package: %s', (checkout, typed) => {
    expect(fromPackage(checkout)).toBe(typed)
  })

  test('leaves words unchanged that are not our commands, such as a query of a list', () => {
    const text = 'npm run build, npm run workbench, npm running'
    expect(fromPackage(text)).toBe(text)
  })

  test('keeps the description of a command in its column', () => {
    const lines = [
      '  npm run work                                works until stopped',
      '  npm run work -- --drain                     ends when nothing is left',
      '  npm run nightly --  x',
    ]
    const [first = '', second = '', third = ''] = fromPackage(lines.join('\n')).split('\n')
    expect(first.indexOf('works')).toBe(lines[0]?.indexOf('works'))
    expect(second.indexOf('ends')).toBe(lines[1]?.indexOf('ends'))
    expect(third).toBe('  npx querymill nightly  x')
  })
})
