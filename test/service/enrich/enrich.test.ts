import { describe, expect, test } from 'vitest'
import { labelClusters } from '../../../src/service/enrich/clusters.ts'
import { findEntities, Gazetteer } from '../../../src/service/enrich/entities.ts'
import { enrich } from '../../../src/service/enrich/enrich.ts'
import { labelIntent, recalled, relateSearches, tone } from '../../../src/service/enrich/labels.ts'
import { makeSnippet } from '../../../src/service/upstream/find.ts'
import { measureEnrich } from '../../bench/enrich.ts'

const none = new Gazetteer([])

test('the result for a text is found once, except for long texts', () => {
  const found: string[] = []
  const length = recalled((text) => found.push(text))
  const long = 'x'.repeat(2000)
  expect(['a', 'b', 'a', long, long].map(length)).toEqual([1, 2, 1, 3, 4])
  expect(found).toEqual(['a', 'b', long, long])
})

describe('labels', () => {
  test('agree with the labelled set as well as before', async () => {
    const { intent, sentiment, entities } = await measureEnrich()
    expect(intent.agreement).toBeGreaterThanOrEqual(0.95)
    expect(sentiment.agreement).toBeGreaterThanOrEqual(0.95)
    expect(entities.precision).toBeGreaterThanOrEqual(0.8)
    expect(entities.recall).toBeGreaterThanOrEqual(0.7)
  })

  test('recognise a brand by the host of the first result, not by a later host', () => {
    expect(labelIntent('git hub', ['github.com'])).toBe('navigational')
    expect(labelIntent('git hub', ['other.example', 'github.com'])).toBe('informational')
    expect(labelIntent('css', ['css-tricks.com'])).toBe('informational')
  })

  test.each([
    ['caniuse.com', 'navigational'],
    ['https://web.dev/', 'navigational'],
    ['what is a .com domain', 'informational'],
    ['.net garbage collector', 'informational'],
    ['cheap .io domain', 'transactional'],
    ['node.js streams', 'informational'],
    ['github.com login', 'navigational'],
  ])('are not decided by a domain suffix alone: %s is %s', (q, intent) => {
    expect(labelIntent(q, [])).toBe(intent)
  })

  test('a negation reverses a word', () => {
    expect(tone('good')).toBeGreaterThan(0)
    expect(tone('not good')).toBeLessThan(0)
    expect(tone('it isn’t bad')).toBeGreaterThan(0)
    expect(tone('constructor toString')).toBe(0)
  })
})

describe('entities', () => {
  test('that are unknown and not repeated are left out', async () => {
    const texts = ['Rachel Andrew wrote this.', 'Another page altogether.']
    expect(await findEntities({ q: 'css grid', texts, known: [] }, none)).toEqual([])
  })

  test('that two results name are found', async () => {
    const texts = ['Rachel Andrew wrote this.', 'A talk by Rachel Andrew.']
    expect(await findEntities({ q: 'css grid', texts, known: [] }, none)).toEqual([
      { name: 'Rachel Andrew', type: 'Person' },
    ])
  })

  test('reported by an upstream come first and keep their type', async () => {
    const known = [{ name: 'Paris', type: 'CreativeWork' }]
    const [first, ...rest] = await findEntities({ q: 'flights to paris', texts: [], known }, none)
    expect(first).toEqual(known[0])
    expect(rest.map(({ name }) => name)).not.toContain('Paris')
  })

  test('exclude the names of sites behind the titles', async () => {
    const gazetteer = new Gazetteer([{ name: 'JavaScript', type: 'Technology' }])
    const result = (position: number) => ({
      position,
      title: `Array.map${position} - JavaScript | MDN`,
      url: `https://example.com/${position}`,
      snippet: '',
      domain: 'example.com',
    })
    const results = [result(1), result(2)]
    const found = { results, pool: [], suggestions: [], known: [] }
    expect((await enrich('map', found, gazetteer)).entities).toEqual([])
  })

  test('that are one everyday word count in a short query, not in a long one or a text', async () => {
    const gazetteer = new Gazetteer([{ name: 'Grid', type: 'Technology' }])
    const texts = ['A grid of rows.', 'The grid again.']
    expect(await findEntities({ q: 'grid', texts: [], known: [] }, gazetteer)).toHaveLength(1)
    expect(await findEntities({ q: 'rows', texts, known: [] }, gazetteer)).toEqual([])
    const long = 'how to change the grid'
    expect(await findEntities({ q: long, texts: [], known: [] }, gazetteer)).toEqual([])
  })
})

describe('clusters', () => {
  const isName = (text: string) => text === 'Least Able'
  const page = (text: string, host = `${text.length}.example`) => ({ host, text })

  test('are none for fewer than four results', () => {
    const pages = ['heat pump noise', 'heat pump noise level', 'heat pump noise'].map((t) =>
      page(t),
    )
    expect(labelClusters('garden', pages, isName)).toEqual([])
  })

  test('are phrases that some results share, never the query itself', () => {
    const texts = [
      'Garden tools: the raised bed',
      'A raised bed for your garden',
      'Vertical garden ideas',
      'More vertical garden plans',
      'Watering',
      'Compost heap',
    ]
    const labels = labelClusters(
      'garden',
      texts.map((text, index) => page(text, `${index}.example`)),
      isName,
    )
    expect(labels).toContain('Raised Bed')
    expect(labels).toContain('Vertical Garden')
    expect(labels).not.toContain('Garden')
  })

  test('are nouns, unless they are a known name', () => {
    const texts = ['Static method', 'Polyfill based', 'Newly available', 'Least Able'].flatMap(
      (phrase) => [`${phrase}: one ${phrase.length}`, `Two ${phrase.length}: ${phrase}`],
    )
    const pages = texts.map((text, index) => page(text, `${index}.example`))
    expect(labelClusters('tools', pages, isName)).toEqual(['Least Able'])
  })

  test('have at most two of one kind, and none that only two of many pages have', () => {
    const kinds = ['Astc Extension', 'Etc Extension', 'Draw Extension', 'Heat Pump'].flatMap(
      (phrase) => ['one', 'two', 'three'].map((word) => `${phrase}: ${word}`),
    )
    const others = Array.from(
      { length: 12 },
      (_, index) => `Nothing ${'abcdefghijkl'[index]}${index}`,
    )
    const texts = [...kinds, 'Rare Bird: one', 'Rare Bird: two', ...others]
    const pages = texts.map((text, index) => page(text, `${index}.example`))
    const labels = labelClusters('webgl', pages, isName)
    expect(labels.filter((label) => label.endsWith('Extension'))).toHaveLength(2)
    expect(labels).toContain('Heat Pump')
    expect(labels).not.toContain('Rare Bird')
  })

  test('are parts of titles, and no fragments of sentences', () => {
    const texts = ['Raised bed', 'Compost heap', 'Herb spiral', 'Cold frame'].map(
      (title) => `${title}. The raised bed requires soil`,
    )
    const others = ['Watering', 'Weeding', 'Mulching', 'Pruning', 'Sowing']
    const pages = [...texts, ...others].map((text, index) => page(text, `${index}.example`))
    expect(labelClusters('garden', pages, isName)).toEqual(['Raised Bed'])
  })

  test('occur in the first ten results', () => {
    const first = Array.from({ length: 10 }, (_, index) => `Garden ${'abcdefghij'[index]}${index}`)
    const late = ['Raised bed: one', 'Raised bed: two', 'Raised bed: three']
    const pages = (texts: string[]) => texts.map((text, index) => page(text, `${index}.example`))
    expect(labelClusters('garden', pages([...late, ...first]), isName)).toEqual(['Raised Bed'])
    expect(labelClusters('garden', pages([...first, ...late]), isName)).toEqual([])
  })

  test('exclude what every result contains', () => {
    const texts = ['open source rake', 'open source hoe', 'open source spade', 'open source fork']
    expect(
      labelClusters(
        'tools',
        texts.map((text, index) => page(text, `${index}.example`)),
        isName,
      ),
    ).toEqual([])
  })
})

describe('related searches', () => {
  const nothing = { suggestions: [], titles: [], clusters: [] }

  test('never contain the query, nor one twice in other words', () => {
    const related = relateSearches('css grid', {
      ...nothing,
      suggestions: [
        'CSS grid',
        'grid css',
        'css grids',
        'css grid gap',
        'css grid gaps',
        'css flexbox',
      ],
    })
    expect(related).toEqual(['css grid gap', 'css flexbox'])
  })

  test('use titles that lead on, not those about something else', () => {
    const titles = [
      'CSS Grid Lanes | Can I use',
      'Tutorial',
      'grid.area() - CSS',
      'Cooking with gas',
    ]
    expect(relateSearches('css grid', { ...nothing, titles })).toEqual(['css grid lanes'])
  })

  test('use labels that share a word with the query, and never append them to the query', () => {
    const clusters = ['Shadow DOM', 'Scoped Components']
    const related = relateSearches('web components', { ...nothing, clusters })
    expect(related).toEqual(['scoped components'])
  })

  test('leave out titles that are only the texts of links, and the query without its spaces', () => {
    const titles = ['Tutorial by Mozilla', 'Mozilla bug 403510', 'Mozilla hacks']
    expect(relateSearches('Mozilla', { ...nothing, titles })).toEqual(['mozilla hacks'])
    const suggestions = ['es 2023 array methods']
    expect(relateSearches('ES2023 array methods', { ...nothing, suggestions })).toEqual([])
  })

  test('share more with the query than generic words', () => {
    const titles = ['Safari support bug', 'AVIF support detection']
    const clusters = ['Support Status']
    const related = relateSearches('safari support for avif', { ...nothing, titles, clusters })
    expect(related).toEqual(['avif support detection'])
  })
})

describe('an answer', () => {
  test('without results has no labels', async () => {
    const found = { results: [], pool: [], suggestions: [], known: [] }
    expect(await enrich('zzqqxx', found, none)).toEqual({
      intent: 'informational',
      sentiment: 'neutral',
      clusters: [],
      entities: [],
      organic_results: [],
      related_searches: [],
    })
  })
})

describe('snippets', () => {
  test('of a short text are the text', () => {
    expect(makeSnippet('a', '  Some\n text. ')).toBe('Some text.')
  })

  test('of a long text start at the matched words, and end at a word', () => {
    const filler = 'Nothing of interest is said in this long opening sentence about weather. '
    const text = `${filler.repeat(6)}The raised bed needs good soil. ${filler.repeat(6)}`
    const snippet = makeSnippet('raised beds', text)
    expect(snippet).toMatch(/^The raised bed needs good soil\./)
    expect(snippet.length).toBeLessThanOrEqual(221)
    expect(snippet).toMatch(/\p{L}…$/u)
  })
})
