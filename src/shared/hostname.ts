import { domainToASCII } from 'node:url'

// The longest name that can be looked up anywhere; spelling longer texts anew takes the square of their length.
const longest = 253

/** A host in the letters in which addresses carry it: bücher.de is xn--bcher-kva.de. What is no host keeps its spelling. */
export function asciiHost(host: string): string {
  // Nearly every host is ASCII already; the converter would make an address of 1.2 and drop what follows a slash.
  if (/^[ -~]*$/.test(host) || /[\s/\\?#%:@]/.test(host) || host.length > longest) return host
  const ascii = domainToASCII(host)
  return ascii === '' ? host : ascii
}

const domainShape =
  /^(?=.{1,253}$)([\p{L}\p{N}]([\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,}$/u

/** True for what can be a domain. */
export function isDomain(text: string): boolean {
  return domainShape.test(text)
}

/** A domain as answers are counted: the host in lower case without a leading www. */
function domainName(typed: string): string {
  return asciiHost(typed.trim())
    .toLowerCase()
    .replace(/^www\.(?=.)/, '')
}

const siteShape = /^(\*\.)?([^/?#]*)(.*)$/s

/** A site as answers are counted: a domain, `*.` in front of it for all hosts below it, a folder behind it. */
export function siteName(typed: string): string {
  const [, wide = '', host = '', path = ''] = siteShape.exec(typed.trim()) ?? []
  return wide + domainName(host) + spellPath(path.replace(/\/+$/, ''))
}

/** A path in the letters in which addresses carry it. */
function spellPath(path: string): string {
  return path.startsWith('/') && !/[?#\s]/.test(path) ? new URL(`http://x.x${path}`).pathname : path
}

/** True for what can be a site. */
export function isSite(text: string): boolean {
  const [, , host = '', path = ''] = siteShape.exec(text) ?? []
  return isDomain(host) && /^(\/[^?#\s/]+)*$/.test(path)
}
