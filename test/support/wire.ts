// const wire = await openWire(databaseUrl) → { url }: the same server over a wire of the test's own.
// `wire.holdReplies(when)`: what the server says is kept back as soon as `when` says so, until `wire.letGo()`.
// `wire.hush()`: nothing passes any more and nothing breaks, as when packets are dropped; `wire.close()` cuts it.
import { Wire as Cable } from '../faults/wire.ts'

export interface Wire {
  readonly url: string
  readonly hush: () => void
  /** Asked before each piece that the server sends; once it says yes, this one and all after it wait. */
  readonly holdReplies: (when: () => boolean) => void
  readonly letGo: () => void
  readonly close: () => Promise<void>
}

export async function openWire(server: string): Promise<Wire> {
  const { hostname, port } = new URL(server)
  const cable = await Cable.open(hostname, Number(port))
  return {
    url: cable.addressOf(server),
    hush: () => cable.hold('there', 'back'),
    holdReplies: (when) => cable.holdRepliesWhen(when),
    letGo: () => cable.letGo(),
    close: () => cable.close(),
  }
}
