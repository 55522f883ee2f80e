import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { Misuse } from '../../shared/errors.ts'
import { readCaniuse } from './caniuse.ts'
import type { DocumentInput } from './document.ts'
import { readFeatures, type FeatureText } from './features.ts'
import { readMdn } from './mdn.ts'
import { readSpecs } from './specs.ts'

const packageShape = z.object({ name: z.string(), version: z.string() })

/** The packages that the corpus is made of. */
const needed = ['@mdn/browser-compat-data', 'caniuse-db', 'web-features', 'web-specs'] as const
type Source = (typeof needed)[number]

export interface Built {
  readonly documents: number
  readonly hosts: number
  readonly bytes: number
  readonly sources: Readonly<Record<string, string>>
}

/** Makes the corpus file out of unpacked npm packages; the same packages always make the same file. */
export function buildCorpus(folders: readonly string[], out: string): Built {
  if (!out.endsWith('.gz')) {
    throw new Misuse(
      `expected --out with a file that ends in .gz, got ${out}; what is written is gzip`,
    )
  }
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
  replaceFile(out, packed)
  return {
    documents: documents.length,
    hosts: new Set(documents.map(({ url }) => new URL(url).hostname)).size,
    bytes: packed.length,
    sources: Object.fromEntries([...found].map(([name, { version }]) => [name, version])),
  }
}

/** Writes beside the file, then renames: a full disk must not cost the corpus that is there. */
function replaceFile(path: string, bytes: Uint8Array): void {
  const draft = `${path}.${process.pid}.part`
  try {
    writeFileSync(draft, bytes, { flag: 'wx' })
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** One document an address: what several sources say about it is put together. */
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
