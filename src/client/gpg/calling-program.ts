import { readFileSync } from 'node:fs';
import { type AskingProgram, askingProgramOf } from '../agent/signer/said-by-client.js';

/** The program that started this one, such as git, with its command line. Undefined where the system does not say. */
export function callingProgram(): AskingProgram | undefined {
  try {
    const [command, ...args] = readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8').split('\0').filter((word) => word !== ''); // prettier-ignore
    return command === undefined ? undefined : askingProgramOf(command, args);
  } catch {
    return undefined;
  }
}
