// Runs before each test file: code left running by a test must not end the process in which later files run.
import { guardExit } from './in-process.ts'

guardExit()
