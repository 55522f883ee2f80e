// Reads the style sheet and scripts of the desk, and sets the headers of its pages.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../base/root.ts'
import { style } from './drawing/parts.ts'

export interface Asset {
  /** Contains a hash of the content, so that browsers may cache it. */
  readonly path: string
  readonly type: string
  readonly text: string
}

export interface Assets {
  readonly style: Asset
  readonly script: Asset
  readonly icon: Asset
}

// Relative to the root, because compiled files are in a different folder.
const folder = join(root, 'src', 'desk', 'assets')

/** Reads style sheet, script and icon; no other assets exist. */
export function readAssets(): Assets {
  return {
    // Styles of charts and tables first, then the desk's own.
    style: assetOf('desk.css', 'text/css; charset=utf-8', style + readAll('css')),
    script: assetOf('desk.js', 'text/javascript; charset=utf-8', readAll('js')),
    icon: assetOf('desk.svg', 'image/svg+xml', readAll('svg')),
  }
}

/** Concatenates all files of a kind, in order of their names. */
function readAll(kind: string): string {
  return readdirSync(folder)
    .filter((name) => name.endsWith(`.${kind}`))
    .toSorted()
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')
}

function assetOf(name: string, type: string, text: string): Asset {
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 12)
  return { path: `/assets/${tag}/${name}`, type, text }
}

/** Headers of a page, which may load nothing from other origins. */
export const pageHeaders = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Not "no-referrer", which would send our own forms without an origin.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const
