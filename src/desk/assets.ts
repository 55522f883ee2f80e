// Reads the desk's style sheet and scripts, and sets its page headers.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../base/root.ts'

export type Assets = ReturnType<typeof readAssets>

// The folder is relative to the root, because compiled files are in a different folder.
const folder = join(root, 'src', 'desk', 'assets')

/** Reads all assets: the style sheet, the script and the icon. */
export function readAssets() {
  return {
    style: assetOf('desk.css', 'text/css; charset=utf-8'),
    script: assetOf('desk.js', 'text/javascript; charset=utf-8'),
    icon: assetOf('desk.svg', 'image/svg+xml'),
  }
}

function assetOf(name: string, type: string) {
  const text = readFileSync(join(folder, name), 'utf8')
  // The path contains a hash of the content, so that browsers may cache the file.
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 12)
  return { path: `/assets/${tag}/${name}`, type, text }
}

/** Headers that prevent a page from loading anything from other origins. */
export const pageHeaders = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // With "no-referrer", browsers would submit our own forms without an origin.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const
