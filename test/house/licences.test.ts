// @module-tag slow
// Data from third parties must be distributed with its authors and licences.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { processEnvironment } from '../../src/base/config.ts'
import { root } from '../../src/base/root.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The page of licences, and every licence text beside it that it links to. */
const home = 'src/service/corpus'
const papers = [
  'LICENSES.md',
  ...[...read(`${home}/LICENSES.md`).matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(
    ([, link = '']) => link,
  ),
]

/** Licences that are missing in a destination of these files. */
function missing(files: readonly string[]): string[] {
  const folders = files
    .filter((file) => file.endsWith('.jsonl.gz'))
    .map((file) => posix.dirname(file))
  expect(folders).not.toEqual([])
  const wanted = folders.flatMap((folder) => papers.map((paper) => posix.join(folder, paper)))
  return [...wanted, 'LICENSE'].filter((file) => !files.includes(file))
}

describe('the licences of distributed data', () => {
  test('are beside the documents of the search service', () => {
    expect(papers).toEqual(['LICENSES.md', 'LICENSE-Apache-2.0.txt'])
    expect(papers.filter((paper) => !existsSync(join(root, home, paper)))).toEqual([])
  })

  test('name every package that the documents were built from', () => {
    const [, list = ''] =
      /const needed = \[([^\]]+)\]/.exec(read('test/support/build-corpus.ts')) ?? []
    const packages = [...list.matchAll(/'([^']+)'/g)].map(([, name = '']) => name)
    expect(packages).toHaveLength(4)
    const page = read(`${home}/LICENSES.md`)
    expect(packages.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([])
  })

  test('are in the package with the documents', () => {
    const { PATH, HOME } = processEnvironment()
    const printed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      env: { PATH, HOME },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const packed = z.array(z.object({ files: z.array(z.object({ path: z.string() })) }))
    const files = packed.parse(JSON.parse(printed)).flatMap((one) => one.files)
    expect(missing(files.map(({ path }) => path))).toEqual([])
  })

  test('are in the image with the documents', () => {
    const [last = ''] = read('Dockerfile')
      .split(/^FROM /m)
      .slice(-1)
    const files = [...last.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)].flatMap(
      ([, sources = '', target = '']) =>
        sources
          .split(' ')
          .map((source) =>
            posix.join(target.endsWith('/') ? `${target}${posix.basename(source)}` : target),
          ),
    )
    expect(missing(files)).toEqual([])
  })
})
