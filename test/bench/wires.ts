// node --import tsx test/bench/wires.ts MS HOST:PORT …: a proxy before each of these servers that adds this many
// milliseconds each way, in a separate process. It prints the ports as JSON. A line `hold 0` on stdin silences the
// first one; `mend 0` breaks its connections and accepts new ones.
import { createInterface } from 'node:readline'
import { Wire } from '../faults/wire.ts'

const [ms, ...servers] = process.argv.slice(2)
const wires: Wire[] = []
for (const server of servers) {
  const [host = '', port] = server.split(':')
  const wire = await Wire.open(host, Number(port))
  wire.delay(Number(ms))
  wires.push(wire)
}
process.stdout.write(`${JSON.stringify(wires.map(({ port }) => port))}\n`)
for await (const line of createInterface(process.stdin)) {
  const [word, number] = line.split(' ')
  const wire = wires[Number(number)]
  if (word === 'hold') wire?.hold('there', 'back')
  else {
    wire?.cut()
    wire?.letGo()
  }
}
process.exit()
