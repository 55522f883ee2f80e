import { z } from 'zod'
import { plainText, type DocumentInput } from './document.ts'
import type { FeatureText } from './features.ts'

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

/** One page for each address of MDN that the compatibility data names. */
export function readMdn(data: unknown, features: FeatureText): DocumentInput[] {
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

/** As the pages are titled: `Array.map - JavaScript`, `grid-template - CSS`, `<video> - HTML`. */
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
