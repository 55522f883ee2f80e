import { describe, expect, test } from 'vitest'
import { longParagraphs, replacedTerms, silentFiles, staleTerms, turnedComments } from './words.ts'
import { readTree, type Tree } from './tree.ts'

const tree = (path: string, text: string): Tree => new Map([[path, text]])

function program(): Tree {
  const files = new Map(readTree(['jobs', 'src'], ['.ts']))
  files.delete('src/base/database/schema.ts')
  return files
}

describe('a doc comment', () => {
  test.each(['/** What is left. */', '/**\n * Whoever waits.\n */', '/** Who pays. */'])(
    'that begins like %j is found',
    (text) => {
      expect(turnedComments(tree('a.ts', `const a = 1\n${text}\n`))).toEqual(['a.ts:2'])
    },
  )

  test('begins with a verb or a noun', () => {
    expect(turnedComments(tree('a.ts', '/** Whole number of lanes. */'))).toEqual([])
    expect(turnedComments(program())).toEqual([])
  })
})

describe('a file', () => {
  test('opens with a sentence that says what it is for', () => {
    expect(silentFiles(tree('a.ts', "import a from 'a'\n"))).toEqual(['a.ts'])
    expect(silentFiles(program())).toEqual([])
  })
})

describe('a paragraph', () => {
  const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')

  test('of more than eighty words is found, in a bullet too, and not in code', () => {
    expect(longParagraphs(tree('a.md', `# A\n\n${words(81)}\n`))).toHaveLength(1)
    expect(longParagraphs(tree('a.md', `- ${words(50)}\n  ${words(31)}\n`))).toHaveLength(1)
    expect(longParagraphs(tree('a.md', `- ${words(80)}\n- ${words(80)}\n`))).toEqual([])
    expect(longParagraphs(tree('a.md', `\`\`\`\n${words(200)}\n\`\`\`\n`))).toEqual([])
  })

  test('has at most eighty words in every page', () => {
    const pages = readTree(['.'], ['.md'])
    expect(pages.size).toBeGreaterThan(25)
    expect(longParagraphs(pages)).toEqual([])
  })
})

describe('a term that the glossary lists as replaced', () => {
  const glossary = '# G\n\n## Replaced terms\n\n| replaced | use |\n|---|---|\n| purse | budget |\n'

  test('is found in pages, messages, comments and names, and not in the table itself', () => {
    expect(replacedTerms(glossary)).toEqual(['purse'])
    const found = (text: string) => staleTerms(['purse', 'all the same'], tree('a', text))
    expect(found('const a = 1\n// The purse.')).toEqual(['a:2: purse'])
    expect(found('const runPurse = 1')).toEqual(['a:1: purse'])
    expect(found('Purse')).toEqual(['a:1: purse'])
    expect(found('shown all\nthe same')).toEqual(['a:1: all the same'])
    expect(found('purser, pursed')).toEqual([])
    expect(found(glossary)).toEqual([])
  })

  test('stands nowhere', () => {
    const pages = new Map(readTree(['.'], ['.md']))
    pages.delete('CHANGELOG.md')
    // Its comments on tables are those of applied migrations.
    pages.delete('docs/schema.md')
    const terms = replacedTerms(pages.get('docs/glossary.md') ?? '')
    expect(terms.length).toBeGreaterThan(10)
    expect(staleTerms(terms, new Map([...pages, ...program()]))).toEqual([])
  })
})
