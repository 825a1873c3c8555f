import { forTerminal } from '../platform/text/truncate.js';

/** Exit codes of `sealwright-admin`. */
export const ADMIN_EXIT = {
  done: 0,
  /** The command failed or found a fault, such as a `bad` finding in `doctor` or a damaged backup in `backup verify`. */
  failed: 1,
  /** The arguments or settings are invalid; nothing was changed. */
  usage: 2,
  /** Another process is performing the same operation. */
  elsewhere: 3,
} as const;

/** AdminCommand is a command of `sealwright-admin`. */
export interface AdminCommand {
  /** First command-line argument. */
  readonly name: string;
  /** Arguments after the name, one line for each form. */
  readonly usage: readonly string[];
  /** One-line description in the list of commands. */
  readonly summary: string;
  /** Help text that explains what an operator must know before running the command, in lines that fit a terminal. */
  readonly details: readonly string[];
  /** Exit codes of this command that differ from ADMIN_EXIT. */
  readonly codes?: readonly string[];
  /** Parses its own arguments with `parseArgs`, whose errors become usage errors. Sets `process.exitCode` if the exit code is not 0. */
  run(args: string[]): Promise<void>;
}

/** AdminError is an error that an operator can understand and correct. The message is printed without a stack trace. */
export class AdminError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = ADMIN_EXIT.failed,
  ) {
    super(message);
  }
}

/** print writes the requested output. All other messages go to stderr, so that the output of `--json` stays valid JSON. */
export function print(...lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${forTerminal(line)}\n`);
}

/** note writes a progress message to stderr. */
export function note(line: string): void {
  process.stderr.write(`${forTerminal(line)}\n`);
}

/** interruption returns an AbortSignal that aborts on SIGINT, SIGTERM or SIGHUP, so that unfinished work can be cleaned up. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}
