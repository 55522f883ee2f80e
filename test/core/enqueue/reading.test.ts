import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'

/** Returns the JSON of a dry run over a file of these bytes. */
async function read(bytes: Buffer, flags: readonly string[] = []) {
  const { mill } = await openScene()
  const file = join(mkdtempSync(join(tmpdir(), 'querymill-reading-')), 'export.csv')
  writeFileSync(file, bytes)
  const { code, stdout } = await run('enqueue', [file, '--dry-run', '--json', ...flags], mill.env)
  expect(code).toBe(0)
  const { runs, parameters } = JSON.parse(stdout)
  return { ...runs[0], parameters }
}

describe('the JSON of an enqueue', () => {
  test('describes how the file was read: encoding, delimiter, header, columns, ignored columns, and the sample', async () => {
    const text =
      'made by a tool\n\nKeyword;Volume;CPC;Trend;Country\nschuhe;1200;0,5;up;Germany\nstiefel;90;0,7;down;Austria\n'
    const list = await read(Buffer.from(text), ['--num', '20'])
    expect(list.reading).toEqual({
      file: expect.stringMatching(/export\.csv$/),
      sheet: null,
      encoding: 'utf-8',
      encoding_by: 'proven',
      delimiter: ';',
      header_line: 3,
      columns: [
        { column: 1, name: 'Keyword', means: 'query', samples: ['schuhe', 'stiefel'] },
        { column: 2, name: 'Volume', means: 'weight', samples: ['1200', '90'] },
        { column: 3, name: 'CPC', means: 'cpc', samples: ['0,5', '0,7'] },
        { column: 5, name: 'Country', means: 'gl', samples: ['Germany', 'Austria'] },
      ],
      runner_up: { column: 4, name: 'Trend', samples: ['up', 'down'] },
      ignored: ['Trend'],
    })
    expect(list.sample.first[0]).toMatchObject({ q: 'schuhe', gl: 'de', num: 20 })
    expect(list.sample.last).toMatchObject({ q: 'stiefel', gl: 'at' })
    expect(list.parameters).toContain('num 20')
  })

  test('distinguishes a given encoding from one that a mark shows, and counts rejected lines by reason', async () => {
    const given = await read(Buffer.from('query\ncaf\u00e9\n', 'latin1'), ['--encoding', 'latin1'])
    expect(given.reading).toMatchObject({ encoding: 'windows-1252', encoding_by: 'given' })
    const marked = await read(
      Buffer.from('\ufeffquery,num\nshoes,10\nboots,900\nhats,x\n', 'utf16le'),
    )
    expect(marked.reading).toMatchObject({ encoding: 'utf-16le', encoding_by: 'mark' })
    const rejected = marked.reasons.reduce(
      (sum: number, { lines }: { lines: number }) => sum + lines,
      0,
    )
    expect(rejected).toBe(marked.rejected)
    expect(marked.reasons.length).toBeGreaterThan(0)
  })
})
