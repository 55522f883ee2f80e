const everyMs = 10_000
const liveEveryMs = 100

/** Says how far something is: one line that changes on a terminal, one line every 10 s elsewhere. */
export class Progress {
  readonly #stream: NodeJS.WriteStream
  #shownAt = Date.now()
  #live = false

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    // The first live line comes at once; elsewhere what ends quickly prints nothing.
    if (stream.isTTY) this.#shownAt = 0
  }

  note(text: () => string): void {
    const now = Date.now()
    if (now - this.#shownAt < (this.#stream.isTTY ? liveEveryMs : everyMs)) return
    this.#shownAt = now
    if (this.#stream.isTTY) this.#stream.write(`\r\u001b[2K${text()}`)
    else this.#stream.write(`${text()}\n`)
    this.#live = this.#stream.isTTY
  }

  /** Takes the live line away before something else is printed. */
  clear(): void {
    if (this.#live) this.#stream.write('\r\u001b[2K')
    this.#live = false
  }
}
