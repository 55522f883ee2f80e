// Writes list files of fifty-four kinds whose meaning is known.
import { odsOf, xlsxOf, zipOf } from './archives.ts'

export interface KnownFile {
  readonly kind: string
  readonly name: string
  readonly bytes: Buffer
  /** Null for a file that is not a list, from which nothing may be bought. */
  readonly queries: readonly string[] | null
  /** True if the file alone does not show its meaning, so that it must be rejected. */
  readonly refused: boolean
  /** True if the first line names columns. */
  readonly header: boolean
  /** True if each line is one query. */
  readonly lines: boolean
}

/** Returns a generator of numbers from 0 to 1, which are the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

class Draw {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  number(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1))
  }

  one<T>(values: readonly [T, ...T[]]): T {
    return values[this.number(0, values.length - 1)] ?? values[0]
  }

  word(words: string): string {
    const [first = '', ...more] = words.split(' ')
    return this.one([first, ...more])
  }

  /** Different queries of one to four words. */
  queries(words = english, count = this.number(6, 30)): string[] {
    const found = new Set<string>()
    while (found.size < count) {
      const parts = Array.from({ length: this.number(1, 3) }, () => this.word(words))
      if (this.number(0, 5) === 0) parts.push(String(this.number(2, 2026)))
      found.add(parts.join(' '))
    }
    return [...found]
  }
}

const english =
  'red blue cheap best leather wool running hiking shoes boots jacket coffee maker near me how to clean repair vintage desk lamp insurance loan weather recipe apple pie office chair garden hose kids bike'
const german =
  'rote günstige beste schuhe kaufen größe jacke kaffeemaschine wanderschuhe damen herren test vergleich büro stuhl lampe österreich fahrrad wetter rezept apfelkuchen'
const languages = [
  english,
  german,
  'chaussures pas cher rouge été manteau laine café machine assurance météo recette gâteau bureau chaise',
  'zapatos rojos baratos mejor cafetera seguro tiempo receta silla oficina niños bicicleta montaña',
  'красные туфли купить недорого кофеварка страховка погода рецепт пирог стул велосипед',
  '靴 赤い 安い コーヒー 保険 天気 レシピ 椅子 自転車 近く',
] as const

type Meaning = Partial<Pick<KnownFile, 'refused' | 'header' | 'lines' | 'name'>>

interface Written extends Meaning {
  readonly text: string | Buffer
  readonly queries: readonly string[] | null
}

const table = (sign: string, ...rows: readonly (readonly (string | number)[])[]): string =>
  `${rows.map((cells) => cells.join(sign)).join('\n')}\n`

const lines = (rows: readonly string[], end = '\n'): string => rows.map((row) => row + end).join('')

const noList = (rows: readonly string[]): Written => ({
  text: lines(rows),
  queries: null,
  refused: true,
})

const cell = (text: string | number, at: string): string =>
  typeof text === 'number'
    ? `<c r="${at}"><v>${text}</v></c>`
    : `<c r="${at}" t="inlineStr"><is><t>${text}</t></is></c>`

const sheetOf = (rows: readonly (readonly (string | number)[])[]): string =>
  rows
    .map((cells, row) => {
      const marked = cells.map((text, at) => cell(text, `${'ABCDEF'[at] ?? ''}${row + 1}`))
      return `<row r="${row + 1}">${marked.join('')}</row>`
    })
    .join('')

const knownHeaders = [
  'keyword',
  'Keyword',
  'q',
  'Query',
  'Search term',
  'Top queries',
  'Suchbegriff',
  'Mot clé',
  'Palabra clave',
  'Zoekwoord',
  'Słowo kluczowe',
  'Ключевое слово',
  'キーワード',
  '关键词',
  '키워드',
  'Parola chiave',
] as const

const unknownHeaders = [
  'Search phrase',
  'Target keyword',
  'Keyword Phrase',
  'Suchphrase',
  'Fraza',
  'Frase',
  'Term list',
  'SEO phrase',
  'Was gesucht wird',
  'Column1',
  'Spalte A',
  'Main KW',
  'Seed',
  'Фраза',
] as const

const volume = (draw: Draw): number => draw.number(1, 9) * 10 ** draw.number(1, 4)

const pad = (value: number): string => String(value).padStart(2, '0')

/** Functions that write a file of each kind, with its meaning. */
const kinds: Readonly<Record<string, (draw: Draw) => Written>> = {
  'plain list': (draw) => {
    const queries = draw.queries(draw.one(languages))
    return { text: lines(queries, draw.one(['\n', '\r\n'])), queries, lines: true }
  },
  'plain list of long sentences': (draw) => {
    const queries = draw.queries().map((query) => `how to find ${query}, the easy way?`)
    return { text: lines(queries), queries, lines: true }
  },
  'column with a known name': (draw) => {
    const queries = draw.queries(draw.one(languages))
    return { text: lines([draw.one(knownHeaders), ...queries]), queries, header: true }
  },
  'column with an unknown name': (draw) => {
    const queries = draw.queries()
    const text = lines([
      draw.one(['Keyword Phrase', 'Suchphrase', 'Фраза', 'Topic', 'Prompt', 'Key phrase']),
      ...queries,
    ])
    return { text, queries, refused: true, header: true }
  },
  'csv with volumes': (draw) => {
    const queries = draw.queries(draw.one(languages))
    const rows = queries.map((query) => [query, volume(draw)])
    const text = table(draw.one([',', ';', '\t']), [draw.one(knownHeaders), 'Volume'], ...rows)
    return { text, queries, header: true }
  },
  'csv with quoted cells': (draw) => {
    const queries = draw.queries().map((query) => `${query}, 24" wide`)
    const rows = queries.map((query) => [`"${query.replaceAll('"', '""')}"`, volume(draw)])
    return { text: table(',', ['keyword', 'volume'], ...rows), queries, header: true }
  },
  'column of queries in the middle': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query, at) => [at + 1, query, volume(draw), 'info'])
    const text = table(',', ['#', draw.one(knownHeaders), 'Volume', 'Intent'], ...rows)
    return { text, queries, header: true }
  },
  'german semicolons': (draw) => {
    const queries = draw.queries(german)
    const rows = queries.map((query) => [
      query,
      volume(draw),
      `${draw.number(0, 9)},${draw.number(10, 99)}`,
    ])
    return {
      text: table(';', ['Suchbegriff', 'Suchvolumen', 'CPC'], ...rows),
      queries,
      header: true,
    }
  },
  'german semicolons without names': (draw) => {
    const queries = draw.queries(german)
    const rows = queries.map((query) => [query, volume(draw), draw.number(0, 9)])
    return { text: table(';', ...rows), queries, refused: true }
  },
  'topics with numbers and no names': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query, at) => [301 + at, query])
    return { text: table(draw.one(['\t', ',']), ...rows), queries, refused: true }
  },
  'topics with ids and no names': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query, at) => [`WT09-B${pad(at)}-${draw.number(10, 99)}`, query, 'q'])
    return { text: table('\t', ...rows), queries, refused: true }
  },
  'table with an unknown name': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query) => [query, volume(draw)])
    return {
      text: table(',', [draw.one(unknownHeaders), 'Volume'], ...rows),
      queries,
      refused: true,
      header: true,
    }
  },
  'table of names that say nothing': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query) => [query, volume(draw), draw.word('high low medium')])
    return {
      text: table(',', ['Column1', 'Column2', 'Column3'], ...rows),
      queries,
      refused: true,
      header: true,
    }
  },
  'two columns of queries': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query) => [query, draw.word(english), volume(draw)])
    return {
      text: table(',', ['Keyword', 'Query', 'Volume'], ...rows),
      queries: [...queries, ...rows.map(([, other]) => String(other))],
      refused: true,
      header: true,
    }
  },
  'people and their addresses': (draw) => {
    const rows = draw
      .queries()
      .map((_, at) => [draw.word('Ann Bob Carl Dora Emil Fred'), `user${at}@mail.example`])
    return {
      text: table(',', ['name', 'email'], ...rows),
      queries: null,
      refused: true,
      header: true,
    }
  },
  'addresses of mail': (draw) =>
    noList(draw.queries().map((_, at) => `${draw.word('ann bob carl dora')}${at}@mail.example`)),
  prices: (draw) =>
    noList(
      draw
        .queries()
        .map(() => `${draw.one(['€', '$', '£'])}${draw.number(1, 999)}.${pad(draw.number(0, 99))}`),
    ),
  'article numbers': (draw) =>
    noList(draw.queries().map((_, at) => `SKU-${draw.number(1000, 9999)}-${pad(at)}`)),
  'telephone numbers': (draw) =>
    noList(
      draw.queries().map(() => `+49 ${draw.number(30, 999)} ${draw.number(100_000, 9_999_999)}`),
    ),
  'addresses of machines': (draw) =>
    noList(
      draw
        .queries()
        .map(() => [10, draw.number(0, 255), draw.number(0, 255), draw.number(1, 254)].join('.')),
    ),
  'host names': (draw) =>
    noList(
      draw
        .queries()
        .map(
          (_, at) =>
            `${draw.one(['www.', 'shop.', ''])}${draw.word(english)}${at}.${draw.one(['com', 'de', 'org', 'co.uk'])}`,
        ),
    ),
  hashtags: (draw) => {
    const queries = draw.queries().map((query) => `#${query.replaceAll(' ', '')}`)
    return { text: lines([...new Set(queries)]), queries: [...new Set(queries)], lines: true }
  },
  'column with a grand total': (draw) => {
    const queries = draw.queries()
    const end = draw.one(['Grand Total', 'Gesamtergebnis', 'Total general'])
    return { text: lines([draw.one(knownHeaders), ...queries, end]), queries, header: true }
  },
  'places beside a stray number': (draw) => {
    const [odd = '', ...queries] = draw.queries()
    const rows = queries.map((query) => [query, draw.one(['Berlin', 'Paris', 'Lyon'])])
    const text = table(',', ['keyword', 'place'], ...rows, [odd, draw.number(1, 100)])
    return { text, queries, header: true }
  },
  hashes: (draw) =>
    noList(
      draw
        .queries()
        .map(() =>
          Array.from({ length: 5 }, () => draw.number(0x1000_0000, 0xffff_ffff).toString(16)).join(
            '',
          ),
        ),
    ),
  uuids: (draw) =>
    noList(
      draw
        .queries()
        .map(
          () =>
            `${draw.number(0x1000_0000, 0xffff_ffff).toString(16)}-4f1a-4c2b-9d3e-${draw.number(0x1000_0000_0000, 0xffff_ffff_ffff).toString(16)}`,
        ),
    ),
  'rows inside quotes': (draw) => {
    const queries = draw.queries()
    return {
      text: lines(['"keyword;volume"', ...queries.map((query) => `"${query};${volume(draw)}"`)]),
      queries,
      refused: true,
      header: true,
    }
  },
  'numbered list': (draw) => {
    const queries = draw.queries()
    const sign = draw.one(['. ', ') ', ': ', ':', ')'])
    return {
      text: lines(queries.map((query, at) => `${at + 1}${sign}${query}`)),
      queries,
      refused: true,
    }
  },
  'list with bullets': (draw) => {
    const queries = draw.queries()
    const sign = draw.one(['• ', '- ', '* ', '– ', '▪ '])
    return { text: lines(queries.map((query) => `${sign}${query}`)), queries, refused: true }
  },
  'list with comments': (draw) => {
    const queries = draw.queries()
    const [first = '', ...rest] = queries
    const sign = draw.one(['# ', '// ', '## '])
    return {
      text: lines([`${sign}campaign of spring`, first, `${sign}more to come`, ...rest]),
      queries,
      refused: true,
    }
  },
  'cells between bars': (draw) => {
    const queries = draw.queries()
    return {
      text: lines(queries.map((query) => `${query} | ${draw.word(english)} | ${volume(draw)}`)),
      queries,
      refused: true,
    }
  },
  'pointer to a large file': (draw) =>
    noList([
      'version https://git-lfs.github.com/spec/v1',
      `oid sha256:${'4d7a2146'.repeat(8)}`,
      `size ${draw.number(100, 99_999)}`,
    ]),
  'difference of two files': (draw) => {
    const queries = draw.queries()
    return noList([
      'diff --git a/list.csv b/list.csv',
      'index 83db48f..bf269f4 100644',
      '--- a/list.csv',
      '+++ b/list.csv',
      `@@ -1,${queries.length} +1,${queries.length} @@`,
      ...queries.map((query, at) => `${'+- '[at % 3] ?? ''}${query}`),
    ])
  },
  'conflict of a merge': (draw) => {
    const [one = '', other = '', ...rest] = draw.queries()
    return noList([...rest, '<<<<<<< HEAD', one, '=======', other, '>>>>>>> spring'])
  },
  'log of a server': (draw) =>
    noList(
      draw
        .queries()
        .map(
          (query) =>
            `10.0.0.${draw.number(1, 254)} - - [10/Oct/2026:13:55:${pad(draw.number(0, 59))} +0000] "GET /search?q=${encodeURIComponent(query)} HTTP/1.1" 200 ${draw.number(100, 9999)}`,
        ),
    ),
  json: (draw) => {
    const queries = draw.queries()
    return { ...noList([]), text: JSON.stringify({ keywords: queries }, null, draw.one([0, 2])) }
  },
  markup: (draw) =>
    noList(['<ul>', ...draw.queries().map((query) => `  <li>${query}</li>`), '</ul>']),
  settings: (draw) => noList(draw.queries().map((query, at) => `Categoria_${at}: ${query}`)),
  'letters broken by a wrong encoding': (draw) => {
    const queries = draw.queries(german, 20)
    const broken = queries.map((query) => Buffer.from(query).toString('latin1'))
    return noList([...broken, Buffer.from('größe österreich').toString('latin1')])
  },
  'other encoding': (draw) => {
    const queries = [...draw.queries(german, 12), 'größe österreich', 'günstige büro']
    const text = Buffer.from(
      table(';', ['Keyword', 'Volume'], ...queries.map((query) => [query, volume(draw)])),
      'latin1',
    )
    return { text, queries, refused: true, header: true }
  },
  'utf-16 of a planner': (draw) => {
    const queries = draw.queries(draw.one(languages))
    const text = table(
      '\t',
      ['Keyword Stats 2026-11-11 at 23_10_18'],
      ['October 1, 2025 - September 30, 2026'],
      ['Keyword', 'Currency', 'Avg. monthly searches'],
      ...queries.map((query) => [query, 'EUR', volume(draw)]),
    )
    return { text: Buffer.from(`\ufeff${text}`, 'utf16le'), queries }
  },
  'report with totals': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query) => [query, draw.number(0, 99), draw.number(100, 999)])
    const total = draw.one(['Grand Total', 'Total: Account', 'Total', 'Gesamt', 'Total - Search'])
    return {
      text: table(',', ['Search keyword report'], ['Search keyword', 'Clicks', 'Impr.'], ...rows, [
        total,
        999,
        9999,
      ]),
      queries,
    }
  },
  'report by device': (draw) => {
    const queries = draw.queries()
    const rows = queries.flatMap((query) =>
      ['Computers', 'Mobile phones', 'Tablets'].map((device) => [
        query,
        device,
        draw.number(1, 99),
      ]),
    )
    return {
      text: table(',', ['Keyword', 'Device', 'Clicks'], ...rows),
      queries,
      refused: true,
      header: true,
    }
  },
  'ranks in a column of places': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query, at) => [at + 1, query, draw.number(1, 100)])
    return { text: table(',', ['num', 'keyword', 'place'], ...rows), queries, header: true }
  },
  'countries by their names': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query) => [
      query,
      draw.one(['Turkey', 'Deutschland', 'USA', 'Macau', 'Palestine', 'FRA', 'Macedonia']),
    ])
    return { text: table(',', ['Keyword', 'Country'], ...rows), queries, header: true }
  },
  'workbook of one sheet': (draw) => {
    const queries = draw.queries(draw.one(languages))
    const rows = queries.map((query) => [query, volume(draw)])
    return {
      text: xlsxOf({ Sheet1: sheetOf([[draw.one(knownHeaders), 'Volume'], ...rows]) }, []),
      queries,
      name: 'book.xlsx',
    }
  },
  'OpenDocument sheet': (draw) => {
    const queries = draw.queries(draw.one(languages))
    const marked = (text: string) =>
      `<table:table-cell office:value-type="string"><text:p>${text}</text:p></table:table-cell>`
    const rows = [[draw.one(knownHeaders), 'Note'], ...queries.map((query) => [query, 'x'])]
    const text = odsOf({
      Sheet1: rows
        .map((cells) => `<table:table-row>${cells.map(marked).join('')}</table:table-row>`)
        .join(''),
    })
    return { text, queries, name: 'book.ods' }
  },
  'JSON lines': (draw) => {
    const queries = draw.queries(draw.one(languages)).map((query) => `${query}, 24" wide`)
    const field = draw.one(['query', 'keyword', 'q', 'search_term'])
    const rows = queries.map((query, at) => JSON.stringify({ id: at, [field]: query, tags: ['a'] }))
    return { text: lines(rows), queries, name: draw.one(['list.jsonl', 'list.json']) }
  },
  'JSON lines of strings': (draw) => {
    const queries = draw.queries(draw.one(languages)).map((query) => `${query}, 24" wide`)
    return {
      text: lines(queries.map((query) => JSON.stringify(query))),
      queries,
      name: 'list.ndjson',
      lines: true,
    }
  },
  'JSON lines without a known field': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query, at) => JSON.stringify({ _id: `D-${at}`, text: query }))
    return { text: lines(rows), queries, refused: true, header: true, name: 'topics.jsonl' }
  },
  'workbook of several lists': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query) => [query, volume(draw)])
    const text = xlsxOf(
      {
        Keywords: sheetOf([['Search phrase', 'Volume'], ...rows]),
        'Negative keywords': sheetOf([['Keyword'], ['free'], ['cheap']]),
      },
      [],
    )
    return {
      text,
      queries: [...queries, 'free', 'cheap'],
      refused: true,
      header: true,
      name: 'book.xlsx',
    }
  },
  'workbook beside its filters': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query) => [query, draw.number(1, 99)])
    const text = xlsxOf(
      {
        Filters: sheetOf([
          ['Filter', 'Value'],
          ['Search type', 'Web'],
        ]),
        Queries: sheetOf([['Top queries', 'Clicks'], ...rows]),
        Countries: sheetOf([
          ['Country', 'Clicks'],
          ['Germany', 5],
          ['France', 2],
        ]),
      },
      [],
    )
    return { text, queries, name: 'book.xlsx' }
  },
  'workbook beside its summary': (draw) => {
    const queries = draw.queries()
    const rows = queries.map((query) => [query, draw.number(1, 99)])
    const text = xlsxOf(
      {
        Summary: sheetOf([
          ['Keywords in all', queries.length],
          ['Best position', 3],
          ['Worst position', 90],
        ]),
        Sheet2: sheetOf([
          ['Row Labels', 'Sum of Clicks'],
          ['shop', 5],
          ['info', 2],
          ['Grand Total', 7],
        ]),
        Queries: sheetOf([['Keyword', 'Clicks'], ...rows, ['Grand Total', 999]]),
      },
      [],
    )
    return { text, queries, name: 'book.xlsx' }
  },
  'archive of two months': (draw) => {
    const [one, other] = [draw.queries(), draw.queries()]
    const text = zipOf({
      'november.csv': lines(['keyword', ...one]),
      'october.csv': lines(['keyword', ...other]),
    })
    return { text, queries: [...one, ...other], refused: true, header: true, name: 'months.zip' }
  },
}

/** Writes files of all kinds in turn, which are the same for the same seed. */
export function knownFiles(count: number, seed: number): KnownFile[] {
  const all = Object.entries(kinds)
  return Array.from({ length: count }, (_, at) => {
    const [kind, write] = all[at % all.length] ?? ['', () => noList([])]
    const { text, ...meaning } = write(new Draw(seed + at))
    const usual = { name: 'list.csv', refused: false, header: false, lines: false }
    return { kind, ...usual, ...meaning, bytes: Buffer.from(text) }
  })
}
