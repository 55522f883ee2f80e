// Runs before each file of tests: nothing that a test left behind may end the process that later files run in.
import { guardExit } from './in-process.ts'

guardExit()
