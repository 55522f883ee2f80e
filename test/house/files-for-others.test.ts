import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../../src/base/root.ts'
import { settings } from '../../src/base/settings.ts'

const folder = join(root, 'docs', 'deploy')
const page = readFileSync(join(folder, 'README.md'), 'utf8')
const lines = page.split('\n').filter((line) => /^\| [[`]/.test(line))

describe('the page of files for other programs', () => {
  test('names every file beside it', () => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'README.md')
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    expect(files.filter((file) => !page.includes(`](${file})`))).toEqual([])
  })

  test('names existing settings of the units', () => {
    const text = readFileSync(join(folder, 'querymill.env'), 'utf8')
    const named = [...text.matchAll(/^#? ?([A-Z][A-Z_]+)=/gm)].map(([, name = '']) => name)
    expect(named.length).toBeGreaterThan(3)
    // Settings that Node itself reads are also in the file.
    const known = [...Object.keys(settings), 'NODE_ENV', 'NODE_OPTIONS', 'HOME']
    expect(named.filter((name) => !known.includes(name))).toEqual([])
  })

  test('names an existing test for each of them', () => {
    const tests = lines.map((line) => [...line.matchAll(/`(test\/[^`]+\.test\.ts)`/g)])
    expect(lines.length).toBeGreaterThan(8)
    expect(lines.filter((_, at) => tests[at]?.length === 0)).toEqual([])
    const named = tests.flat().map(([, path = '']) => path)
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})
