// node --import tsx test/bench/delay.ts HOST PORT MS: a proxy before a server that adds this many milliseconds each
// way. It runs in a separate process, so that it takes no time from the measured event loop. It prints its port.
import { Wire } from '../faults/wire.ts'

const [host = '', port, ms] = process.argv.slice(2)
const wire = await Wire.open(host, Number(port))
wire.delay(Number(ms))
process.stdout.write(`${wire.port}\n`)
