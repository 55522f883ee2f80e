/** True for the names and numbers of this machine itself. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** An address as it may be shown. */
export function maskPassword(text: string): string {
  return text.replace(/^([a-z]+:\/\/[^:/@]*):[^@]*@/, '$1:…@')
}
