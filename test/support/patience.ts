// How long a test waits for a condition before the product counts as hung, in milliseconds. It is longer on a slow
// machine, as measured when the run began. Conditions are awaited with `expect.poll`, which already has this limit;
// `patienceMs` is for other uses.
import { inject } from 'vitest'

export const patienceMs = inject('patienceMs')
