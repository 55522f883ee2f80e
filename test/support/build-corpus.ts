/**
 * Builds the shipped corpus from open data about the web platform.
 * Run it with the folders of the unpacked npm packages: node --import tsx test/support/build-corpus.ts FOLDER...
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { printJson } from '../../src/base/cli/command.ts'
import { Misuse, unhandled } from '../../src/base/errors.ts'
import { type documentShape, shippedFile } from '../../src/service/corpus/load.ts'

type DocumentInput = z.input<typeof documentShape>

const shape = z.object({
  data: z.record(
    z.string(),
    z.looseObject({
      title: z.string(),
      description: z.string(),
      notes: z.string().optional(),
      keywords: z.string().optional(),
      categories: z.array(z.string()).optional(),
      links: z.array(z.looseObject({ url: z.string(), title: z.string() })).optional(),
    }),
  ),
})

/** Creates a page for each feature of caniuse.com and for each article that it links to. */
function readCaniuse(data: unknown): DocumentInput[] {
  const documents: DocumentInput[] = []
  for (const [id, feature] of Object.entries(shape.parse(data).data)) {
    const title = withoutBackticks(feature.title)
    const description = plainText(feature.description)
    const keywords = (feature.keywords ?? '').split(',').filter((word) => word !== '')
    documents.push({
      url: `https://caniuse.com/${id}`,
      title: `${title} | Can I use`,
      text: [description, plainText(feature.notes ?? ''), ...listed('Keywords', keywords)]
        .filter((part) => part !== '')
        .join(' '),
      entities: [{ name: title, type: 'Technology' }],
    })
    for (const link of feature.links ?? []) {
      if (!/^https?:/.test(link.url) || !URL.canParse(link.url)) continue
      documents.push({
        url: new URL(link.url).href,
        title: withoutBackticks(link.title),
        text: `${title}: ${description}`,
      })
    }
  }
  return documents
}

function listed(name: string, words: readonly string[]): string[] {
  return words.length === 0 ? [] : [`${name}: ${words.join(', ')}.`]
}

const compatShape = z.looseObject({
  mdn_url: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  status: z.looseObject({ deprecated: z.boolean(), experimental: z.boolean() }).optional(),
  support: z.record(z.string(), z.unknown()).optional(),
})

const browserNames = {
  chrome: 'Chrome',
  edge: 'Edge',
  firefox: 'Firefox',
  safari: 'Safari',
} as const
const versionShape = z.looseObject({ version_added: z.union([z.string(), z.literal(false)]) })

const areas: Readonly<Record<string, string>> = {
  api: 'Web APIs',
  css: 'CSS',
  html: 'HTML',
  http: 'HTTP',
  javascript: 'JavaScript',
  manifests: 'Web app manifests',
  mathml: 'MathML',
  mediatypes: 'Media types',
  svg: 'SVG',
  webassembly: 'WebAssembly',
  webdriver: 'WebDriver',
  webextensions: 'WebExtensions',
}

/** Makes a page for each MDN address in the compatibility data. */
function readMdn(data: unknown, features: FeatureText): DocumentInput[] {
  const pages = new Map<string, DocumentInput>()
  walk(z.record(z.string(), z.unknown()).parse(data), [], (path, compat) => {
    if (compat.mdn_url === undefined) return
    const url = compat.mdn_url.split('#')[0] ?? compat.mdn_url
    const known = pages.get(url)
    const text = plainText(compat.description ?? '')
    if (known === undefined) {
      const feature = featureOf(compat.tags, features)
      const parts = [text, feature, support(compat)].filter((part) => part !== '')
      pages.set(url, { url, title: titleOf(path), text: parts.join(' ') })
    } else if (text !== '') pages.set(url, { ...known, text: `${known.text ?? ''} ${text}.` })
  })
  return [...pages.values()]
}

type Compat = z.infer<typeof compatShape>

function walk(
  node: Readonly<Record<string, unknown>>,
  path: readonly string[],
  visit: (path: readonly string[], compat: Compat) => void,
): void {
  if (path[0] !== undefined && areas[path[0]] === undefined) return
  if (node['__compat'] !== undefined) visit(path, compatShape.parse(node['__compat']))
  for (const [name, child] of Object.entries(node)) {
    if (name === '__compat' || typeof child !== 'object' || child === null) continue
    walk(child as Record<string, unknown>, [...path, name], visit)
  }
}

/** A title in the style of MDN: `Array.map - JavaScript`, `grid-template - CSS`, `<video> - HTML`. */
function titleOf(path: readonly string[]): string {
  const [area = '', ...rest] = path
  const groups = [
    'properties',
    'elements',
    'builtins',
    'types',
    'at-rules',
    'selectors',
    'statements',
  ]
  const names = rest.filter((name, at) => !groups.includes(name) && !(at === 0 && name === 'api'))
  const name = names.join('.')
  const shown = rest[0] === 'elements' && names.length === 1 ? `<${name}>` : name
  return `${shown} - ${areas[area] ?? area} | MDN`
}

function featureOf(tags: readonly string[] | undefined, features: FeatureText): string {
  const id = tags?.find((tag) => tag.startsWith('web-features:'))?.slice('web-features:'.length)
  const feature = id === undefined ? undefined : features.get(id)
  return feature === undefined ? '' : `${feature.name}: ${feature.text}`
}

function support({ support: table, status }: Compat): string {
  const since = Object.entries(browserNames).flatMap(([id, name]) => {
    const entry: unknown = table?.[id]
    const first = versionShape.safeParse(Array.isArray(entry) ? (entry[0] as unknown) : entry)
    const version = first.success ? first.data.version_added : false
    return version === false || version === 'preview' ? [] : [`${name} ${version}`]
  })
  const warning = [
    status?.deprecated === true ? 'Deprecated.' : '',
    status?.experimental === true ? 'Experimental.' : '',
  ]
  const sentence = since.length === 0 ? '' : `Supported since ${since.join(', ')}.`
  return [...warning, sentence].filter((part) => part !== '').join(' ')
}

const specShape = z.array(
  z.looseObject({
    url: z.string(),
    title: z.string(),
    shortTitle: z.string().optional(),
    organization: z.string().optional(),
    groups: z.array(z.looseObject({ name: z.string() })).optional(),
    nightly: z.looseObject({ status: z.string().optional() }).optional(),
    standing: z.string().optional(),
  }),
)

/** Makes a page for each specification of the web platform. */
function readSpecs(data: unknown): DocumentInput[] {
  return specShape.parse(data).map((spec) => {
    const groups = (spec.groups ?? []).map(({ name }) => name)
    const short = withoutBackticks(spec.shortTitle ?? spec.title)
    const parts = [
      short === spec.title ? '' : `${short}.`,
      `Specification${groups.length > 0 ? ` by the ${groups.join(' and the ')}` : ''}.`,
      spec.nightly?.status ?? '',
      spec.standing === 'good' ? '' : `${spec.standing ?? ''}.`,
    ]
    return {
      url: spec.url,
      title: withoutBackticks(spec.title),
      text: parts.filter((part) => part !== '' && part !== '.').join(' '),
      entities: [
        { name: short.replace(/ (Module )?Level \d+$/, ''), type: 'Technology' },
        ...groups.map((name) => ({ name, type: 'Organization' })),
        ...(spec.organization === undefined
          ? []
          : [{ name: spec.organization, type: 'Organization' }]),
      ],
    }
  })
}

/** Name and description of each web feature, for the pages that belong to it. */
type FeatureText = Map<string, { readonly name: string; readonly text: string }>

const oneOrMore = z.union([z.string(), z.array(z.string())])

const featureShape = z.object({
  features: z.record(
    z.string(),
    z.looseObject({
      kind: z.string(),
      name: z.string().optional(),
      description: z.string().optional(),
      spec: oneOrMore.optional(),
      group: oneOrMore.optional(),
      status: z
        .looseObject({
          baseline: z.union([z.literal('high'), z.literal('low'), z.literal(false)]).optional(),
          baseline_low_date: z.string().optional(),
        })
        .optional(),
    }),
  ),
  groups: z.record(z.string(), z.looseObject({ name: z.string() })),
})

/** Makes a page for each feature of the web platform. */
function readFeatures(data: unknown, texts: FeatureText): DocumentInput[] {
  const { features, groups } = featureShape.parse(data)
  const documents: DocumentInput[] = []
  for (const [id, feature] of Object.entries(features)) {
    if (feature.kind !== 'feature' || feature.name === undefined) continue
    const description = plainText(feature.description ?? '')
    texts.set(id, { name: withoutBackticks(feature.name), text: description })
    const names = [feature.group ?? []].flat().map((group) => groups[group]?.name ?? group)
    const status = availability(feature.status)
    documents.push({
      url: `https://web-platform-dx.github.io/web-features-explorer/features/${id}/`,
      title: `${withoutBackticks(feature.name)} - Web features explorer`,
      text: [description, names.length > 0 ? `Part of ${names.join(', ')}.` : '', status]
        .filter((part) => part !== '')
        .join(' '),
      entities: [{ name: withoutBackticks(feature.name), type: 'Technology' }],
    })
  }
  return documents
}

interface Status {
  readonly baseline?: 'high' | 'low' | false | undefined
  readonly baseline_low_date?: string | undefined
}

function availability(status: Status | undefined): string {
  const since = status?.baseline_low_date?.replace('≤', 'at least ') ?? ''
  const baseline = status?.baseline
  switch (baseline) {
    case 'high':
      return `Baseline widely available, newly available since ${since}.`
    case 'low':
      return `Baseline newly available since ${since}.`
    case false:
      return 'Limited availability across major browsers.'
    case undefined:
      return ''
    default:
      throw unhandled('baseline', baseline)
  }
}

const packageShape = z.object({ name: z.string(), version: z.string() })

/** The npm packages that the corpus is made from. */
const needed = ['@mdn/browser-compat-data', 'caniuse-db', 'web-features', 'web-specs'] as const
type Source = (typeof needed)[number]

interface Built {
  readonly documents: number
  readonly hosts: number
  readonly bytes: number
  readonly sources: Readonly<Record<string, string>>
}

/** Makes the corpus file from unpacked npm packages. The same packages give the same bytes. */
function buildCorpus(folders: readonly string[]): Built {
  const found = new Map<Source, { folder: string; version: string }>()
  for (const folder of folders) {
    const { name, version } = packageShape.parse(readJson(join(folder, 'package.json')))
    const source = needed.find((one) => one === name)
    if (source !== undefined) found.set(source, { folder, version })
  }
  const read = (source: Source, file: string): unknown => {
    const place = found.get(source)
    if (place !== undefined) return readJson(join(place.folder, file))
    throw new Misuse(
      `expected the folder of ${source}, got ${folders.join(' ') || 'nothing'}; unpack it with npm pack and name its folder`,
    )
  }
  const features: FeatureText = new Map()
  const documents = merge([
    ...readFeatures(read('web-features', 'data.json'), features),
    ...readMdn(read('@mdn/browser-compat-data', 'data.json'), features),
    ...readCaniuse(read('caniuse-db', 'data.json')),
    ...readSpecs(read('web-specs', 'index.json')),
  ])
  const lines = documents.map((document) => JSON.stringify(document)).join('\n')
  const packed = gzipSync(`${lines}\n`, { level: 9 })
  writeFileSync(shippedFile, packed)
  return {
    documents: documents.length,
    hosts: new Set(documents.map(({ url }) => new URL(url).hostname)).size,
    bytes: packed.length,
    sources: Object.fromEntries([...found].map(([name, { version }]) => [name, version])),
  }
}

/** Merges the documents of several sources that have the same address. */
function merge(documents: readonly DocumentInput[]): DocumentInput[] {
  const byUrl = new Map<string, DocumentInput>()
  for (const document of documents) {
    const known = byUrl.get(document.url)
    if (known === undefined) byUrl.set(document.url, document)
    else {
      const texts = new Set([known.text ?? '', document.text ?? ''].filter((text) => text !== ''))
      byUrl.set(document.url, { ...known, text: [...texts].join(' ') })
    }
  }
  return [...byUrl.values()].toSorted((a, b) => (a.url < b.url ? -1 : 1))
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new Misuse(`expected ${path} to be a JSON file, got something else`, { cause })
  }
}

/** A name without its backticks. `<a>` stays, since it is the subject. */
function withoutBackticks(name: string): string {
  return name.replaceAll('`', '').trim()
}

/** Text without markup, code fences, links and repeated white space. */
function plainText(text: string): string {
  return (
    text
      // Remove only tags that format: `<video>` in a sentence is its subject.
      .replace(
        /<\/?(?:code|a|em|strong|p|br|b|i|kbd|sub|sup|li|ul|ol|pre|span)(?:\s[^>]*)?\/?>/gi,
        '',
      )
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[`*]/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&amp;', '&')
      .replace(/\s+/g, ' ')
      .trim()
  )
}

printJson(buildCorpus(process.argv.slice(2)))
