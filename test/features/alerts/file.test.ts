import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Misuse } from '../../../src/base/errors.ts'
import { readRows } from '../../../src/core/lists/table.ts'
import { readAlertFile } from '../../../src/features/alerts/command.ts'
import { temporaryFolder } from '../../support/place.ts'

const folder = temporaryFolder('alert-rules')
const header = 'alert,what,threshold,direction,list,tag,domain,rival,feature,confirm,on'

async function read(text: string) {
  const path = join(folder, 'alerts.csv')
  writeFileSync(path, text)
  const rows = await readRows(path, 'alerts.csv')
  const listOf = (typed: string) => (typed === 'keywords' ? 'keywords' : null)
  const sites = new Set(['medium.com/us', '*.x.com'])
  return readAlertFile({ rows, shown: 'alerts.csv', listOf, sites })
}

async function problems(text: string): Promise<readonly string[]> {
  try {
    await read(text)
    return []
  } catch (error) {
    if (!(error instanceof Misuse)) throw error
    return error.message.split('\n')
  }
}

describe('a file of rules', () => {
  test('defines the kind, scope and confirmation of each alert', async () => {
    const rules = await read(
      [
        header,
        'lost,left,,,keywords,brand,,,,2,yes',
        'fell,Moved,3,DOWN,,,www.Example.com,,,,',
        'top,crossed,10,,,,*,,,,',
        'share,share fell,12.5 %,,,*,,,,,',
        'rival,rival_passed,,,,,,*,,,',
        'part,new_feature,,,,,,,featured_snippet,,',
        'page,wrong_page,,,,,,,,7,',
        'won,entered,,,,,,,,,no',
      ].join('\n'),
    )
    const nothing = {
      ...{ threshold: null, direction: null, list: null, tag: null, domain: null },
      ...{ rival: null, feature: null, confirm: 1 },
    }
    expect(rules).toEqual([
      { ...nothing, name: 'lost', what: 'left', list: 'keywords', tag: 'brand', confirm: 2 },
      {
        ...{ ...nothing, name: 'fell', what: 'moved', threshold: 3 },
        ...{ direction: 'down', domain: 'example.com' },
      },
      { ...nothing, name: 'top', what: 'crossed', threshold: 10, domain: '*' },
      { ...nothing, name: 'share', what: 'share_fell', threshold: 12.5, tag: '*' },
      { ...nothing, name: 'rival', what: 'rival_passed', rival: '*' },
      { ...nothing, name: 'part', what: 'new_feature', feature: 'featured_snippet' },
      { ...nothing, name: 'page', what: 'wrong_page', confirm: 7 },
    ])
  })

  test('may name a folder or wildcard of our own or of a rival’s domain lines, and no other', async () => {
    const rules = await read(
      'alert,what,threshold,domain,rival\nlost,left,,www.Medium.com/us/,\npassed,rival_passed,,,*.X.com\n',
    )
    expect(rules.map(({ domain, rival }) => [domain, rival])).toEqual([
      ['medium.com/us', null],
      [null, '*.x.com'],
    ])
    expect(await problems('alert,what,domain\nlost,left,medium.com/them\n')).toEqual([
      'alerts.csv:2: domain: expected a domain like example.com, without https://, or a folder or *.domain that npm run domains lists, got "medium.com/them"',
    ])
  })

  test('may leave out columns, or contain only its header', async () => {
    expect(await read('alert,what\nlost,left\n')).toHaveLength(1)
    expect(await read(`${header}\n`)).toEqual([])
  })

  test('reports every problem of every line at once, with line, column, expected and actual value', async () => {
    const found = await problems(
      [
        header,
        'lost,vanished,,,,,,,,,',
        'fell,moved,0,sideways,elsewhere,,https://x.com/a,,,9,perhaps',
        'fell,crossed,,,,,,,,,',
        'share,share_fell,140,,keywords,brand,*,,,,',
        'rival,rival_passed,,up,,,,,,,',
        'part,new_feature,2,,,,ours.com,,,,',
        ',left,,,,,,,,,',
        'half,moved,2.5,,,,,,,,',
        'wide,left,,,,,,,,,,,more',
      ].join('\n'),
    )
    expect(found).toEqual([
      'alerts.csv:2: what: expected one of entered, left, moved, crossed, share_fell, rival_passed, new_feature, wrong_page, got "vanished"',
      'alerts.csv:3: threshold: expected a whole number of positions from 1 to 100, got "0"',
      'alerts.csv:3: direction: expected "up", "down" or nothing for both, got "sideways"',
      'alerts.csv:3: list: expected the name of an enqueued list, or the path of a list file, got "elsewhere"',
      'alerts.csv:3: domain: expected a domain like example.com, without https://, or a folder or *.domain that npm run domains lists, got "https://x.com/a"',
      'alerts.csv:3: confirm: expected a number of consecutive answers, from 1 to 7, got "9"',
      'alerts.csv:3: on: expected "yes" or "no", got "perhaps"',
      'alerts.csv:4: threshold: expected the last position that counts as top, from 1 to 100, got nothing',
      'alerts.csv:4: alert: expected a name that is not already used on line 3, got "fell"',
      'alerts.csv:5: threshold: expected a percentage of the share, above 0 and at most 100, got "140"',
      'alerts.csv:5: domain: expected a domain like example.com, without https://, or a folder or *.domain that npm run domains lists, got "*"',
      'alerts.csv:5: tag: expected an empty cell for a rule about a list, got "brand"',
      'alerts.csv:6: direction: expected an empty cell for rival_passed, got "up"',
      'alerts.csv:6: rival: expected the domain that overtakes ours, or * for any domain, got nothing',
      'alerts.csv:7: threshold: expected an empty cell for new_feature, got "2"',
      'alerts.csv:7: domain: expected an empty cell for new_feature, got "ours.com"',
      'alerts.csv:8: alert: expected a short name of letters, digits, spaces, ".", "_" or "-", got nothing',
      'alerts.csv:9: threshold: expected a whole number of positions from 1 to 100, got "2.5"',
      'alerts.csv:10: expected 11 cells, as in the header, got 13; put quotes around a cell that contains a comma',
    ])
  })

  test('with unknown columns is refused, with the valid ones', async () => {
    expect(await problems('name,what,treshold\nlost,left,\n')).toEqual([
      expect.stringMatching(/^alerts.csv:1: name: expected one of the columns alert, what, /),
      expect.stringMatching(/^alerts.csv:1: treshold: expected one of the columns /),
      'alerts.csv:1: alert: this column is missing',
      expect.stringMatching(/^alerts.csv:2: alert: expected a short name/),
    ])
  })
})
