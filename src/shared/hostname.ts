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

/** A domain as answers are counted: the host in lower case without a leading www. */
export function domainName(typed: string): string {
  return asciiHost(typed.trim())
    .toLowerCase()
    .replace(/^www\.(?=.)/, '')
}
