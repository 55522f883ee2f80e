import {
  createConnection,
  createServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'

/** The direction of a connection: from the client or from the server. */
type Way = 'there' | 'back'

/** Current behaviour of a wire; all connections through the wire check it before each piece. */
interface Weather {
  delayMs: number
  readonly held: Set<Way>
  /** Once it returns true, this piece from the server and all after it are held back. */
  holdWhen: (() => boolean) | null
}

/** A message in transit: bytes, an orderly close, or a break. */
type Freight = Buffer | 'end' | 'break'

/** A connection that was not notified of its end is dropped after this time, as TCP would do eventually. */
const strandedMs = 30_000

/** One direction of a connection: pieces leave in order, none before its time. */
class Flow {
  readonly #to: Socket
  readonly #way: Way
  readonly #weather: Weather
  readonly #pieces: { freight: Freight; due: number }[] = []
  #timer: NodeJS.Timeout | undefined
  #turn: NodeJS.Immediate | undefined
  lost = false

  constructor(from: Socket, to: Socket, { way, weather }: { way: Way; weather: Weather }) {
    this.#to = to
    this.#way = way
    this.#weather = weather
    from.on('data', (bytes) => this.#take(bytes))
    from.on('end', () => this.#take('end'))
    from.on('error', () => this.#take('break'))
  }

  #take(freight: Freight): void {
    if (this.lost) return
    this.#pieces.push({ freight, due: performance.now() + this.#weather.delayMs })
    this.pump()
  }

  /** Forwards everything that may pass now. */
  pump(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#turn)
    this.#timer = undefined
    this.#turn = undefined
    const { held, holdWhen } = this.#weather
    for (let [next] = this.#pieces; next !== undefined; [next] = this.#pieces) {
      if (this.#way === 'back' && holdWhen?.() === true) held.add('back')
      if (held.has(this.#way)) return
      const leftMs = next.due - performance.now()
      if (leftMs > 0) {
        this.#wait(leftMs)
        return
      }
      this.#pieces.shift()
      this.#pass(next.freight)
    }
  }

  /** Timers have a resolution of a millisecond; shorter waits use turns of the event loop. */
  #wait(ms: number): void {
    if (ms >= 1) this.#timer = setTimeout(() => this.pump(), Math.floor(ms))
    else this.#turn ??= setImmediate(() => this.pump())
  }

  #pass(freight: Freight): void {
    if (this.#to.destroyed) return
    if (freight === 'break') this.#to.resetAndDestroy()
    else if (freight === 'end') this.#to.end()
    else this.#to.write(freight)
  }
}

/** One connection through a wire. */
class Link {
  readonly #near: Socket
  readonly #far: Socket
  readonly #flows: readonly [Flow, Flow]

  constructor(near: Socket, far: Socket, weather: Weather) {
    this.#near = near
    this.#far = far
    for (const socket of [near, far]) socket.setNoDelay(true)
    this.#flows = [
      new Flow(near, far, { way: 'there', weather }),
      new Flow(far, near, { way: 'back', weather }),
    ]
  }

  get over(): boolean {
    return this.#near.destroyed && this.#far.destroyed
  }

  /** True while the client still has a connection that leads nowhere. */
  get misleads(): boolean {
    return this.#flows[0].lost && !this.#near.readableEnded && !this.#near.destroyed
  }

  pump(): void {
    for (const flow of this.#flows) flow.pump()
  }

  strand(): void {
    for (const flow of this.#flows) flow.lost = true
    setTimeout(() => this.cut(), strandedMs).unref()
  }

  cut(): void {
    for (const socket of [this.#near, this.#far]) socket.resetAndDestroy()
  }
}

/** A proxy between programs and a server on the loopback interface, which can be slow, silent, cut or stranded. */
export class Wire {
  readonly port: number
  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #weather: Weather = { delayMs: 0, held: new Set(), holdWhen: null }

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
  }

  /** Starts a wire in front of a server; connections to its port are forwarded. */
  static async open(host: string, port: number): Promise<Wire> {
    const server = createServer({ allowHalfOpen: true })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const wire = new Wire(server)
    server.on('connection', (near) => {
      const far = createConnection({ host, port, allowHalfOpen: true })
      const link = new Link(near, far, wire.#weather)
      wire.#links.add(link)
      for (const socket of [near, far]) {
        socket.once('close', () => link.over && wire.#links.delete(link))
      }
    })
    return wire
  }

  /** The server's address through this wire. */
  addressOf(server: string): string {
    return Object.assign(new URL(server), { hostname: '127.0.0.1', port: String(this.port) }).href
  }

  /** True if everything passes at once, and no client has a connection that leads nowhere. */
  get clear(): boolean {
    const { delayMs, held } = this.#weather
    return delayMs === 0 && held.size === 0 && ![...this.#links].some(({ misleads }) => misleads)
  }

  /** From now on, each piece is delayed by this time, in each direction. */
  delay(ms: number): void {
    this.#weather.delayMs = ms
  }

  /** Holds back everything in this direction without breaking connections, as when packets are lost. */
  hold(...ways: readonly Way[]): void {
    for (const way of ways) this.#weather.held.add(way)
  }

  /** Called before each piece from the server; once it returns true, this piece and all after it are held back. */
  holdRepliesWhen(when: () => boolean): void {
    this.#weather.holdWhen = when
  }

  /** Forwards the pieces that were held back, in order. */
  letGo(): void {
    this.#weather.holdWhen = null
    this.#weather.held.clear()
    for (const link of this.#links) link.pump()
  }

  /** Strands existing connections without telling either end; new connections work. */
  strand(): void {
    for (const link of this.#links) link.strand()
  }

  /** Breaks existing connections on both ends. */
  cut(): void {
    for (const link of this.#links) link.cut()
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
