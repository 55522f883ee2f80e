// How long a test waits for a condition before it calls the product hung, in milliseconds. It grows with the slowness of
// this machine, measured when the run began. Conditions are awaited with `expect.poll`, which has this limit already;
// `patienceMs` is for whatever wants a number of its own.
import { inject } from 'vitest'

export const patienceMs = inject('patienceMs')
