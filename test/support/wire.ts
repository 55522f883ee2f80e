// const wire = await openWire(databaseUrl) → { url }: the same server through a test proxy.
// `wire.holdReplies(when)`: server replies are held back as soon as `when` returns true, until `wire.letGo()`.
// `wire.hush()`: nothing passes any more and no connection breaks, as when packets are dropped; `wire.close()` cuts it.
import { Wire as Cable } from '../faults/wire.ts'

export interface Wire {
  readonly url: string
  readonly hush: () => void
  /** Called before each piece from the server; once it returns true, this piece and all after it are held back. */
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
