import { forTerminal } from '../platform/text/truncate.js';

/** How `sealwright-admin` ends. */
export const ADMIN_EXIT = {
  done: 0,
  /** It failed, or it found what it looked for: `doctor` something bad, `backup verify` a fault. */
  failed: 1,
  /** The call or the settings are wrong; nothing was done. */
  usage: 2,
  /** Another process does it at the moment. */
  elsewhere: 3,
} as const;

/** A command of `sealwright-admin`. */
export interface AdminCommand {
  /** First word of the call. */
  readonly name: string;
  /** The words after the name, one way to call it a line. */
  readonly usage: readonly string[];
  /** What it does, in a line of the list. */
  readonly summary: string;
  /** What a person must know before it is run, in lines that fit a terminal. */
  readonly details: readonly string[];
  /** What exit codes mean here, where that is more than ADMIN_EXIT says. */
  readonly codes?: readonly string[];
  /** Reads its own arguments with `parseArgs`, whose errors become a usage error. Sets `process.exitCode` when it is not to be 0. */
  run(args: string[]): Promise<void>;
}

/** What an operator can understand and put right: it is printed without a stack. */
export class AdminError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = ADMIN_EXIT.failed,
  ) {
    super(message);
  }
}

/** Prints what was asked for. Everything else goes to stderr, so that the output of `--json` stays JSON. */
export function print(...lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${forTerminal(line)}\n`);
}

/** Says what happens meanwhile. */
export function note(line: string): void {
  process.stderr.write(`${forTerminal(line)}\n`);
}

/** Aborts when the process is told to stop, so that what was begun is removed. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}
