import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

/** ToolEnd describes how a tool ended: with an exit code, or killed by a signal. */
export interface ToolEnd {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
  /** Captured stdout and stderr of a tool whose output is hidden, limited to about 1 MB. */
  readonly printed: string;
}

interface ToolStart {
  readonly env: NodeJS.ProcessEnv;
  /** Whether the tool's output is captured instead of printed. */
  readonly isQuiet: boolean;
  note(line: string): void;
}

const MAX_PRINTED = 1 << 20;

/** Exit codes of a shell for a command that is not found and for a command that cannot be executed. */
const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;

/** Signals that end programs. Signals from the terminal also reach the tool, which is in the same foreground process group. */
const FROM_OUTSIDE = ['SIGTERM', 'SIGHUP'] as const;
const FROM_TERMINAL = ['SIGINT', 'SIGQUIT'] as const;

/**
 * Runs a tool on the terminal of this program until the tool ends. Signals are passed to the tool and do not end this process, because this process may have to
 * withdraw requests.
 */
export async function runTool(
  command: string,
  args: readonly string[],
  { env, isQuiet, note }: ToolStart,
): Promise<ToolEnd> {
  const child = spawn(command, args, { env, stdio: isQuiet ? ['inherit', 'pipe', 'pipe'] : 'inherit' });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (piece: Buffer) => {
      if (printed.length < MAX_PRINTED) printed += piece.toString();
    });
  const release = passSignals(child);
  try {
    const [code, signal] = (await once(child, isQuiet ? 'close' : 'exit')) as [number | null, NodeJS.Signals | null];
    return { code: code ?? 128 + constants.signals[signal ?? 'SIGTERM'], signal, printed };
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    note(`sealwright: ${command}: ${missing ? 'command not found' : String(error)}`);
    return { code: missing ? NOT_FOUND : NOT_RUNNABLE, signal: null, printed };
  } finally {
    release();
  }
}

function passSignals(child: ChildProcess): () => void {
  const handlers = new Map<NodeJS.Signals, () => void>();
  for (const signal of FROM_OUTSIDE) handlers.set(signal, () => void child.kill(signal));
  for (const signal of FROM_TERMINAL)
    handlers.set(signal, () => {
      if (!process.stdin.isTTY) child.kill(signal);
    });
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}

/**
 * Ends this process with the signal that ended the tool, so that the parent process receives the same status. Returns if the signal is not fatal for this
 * process.
 */
export function endBySignal({ signal }: ToolEnd): void {
  if (signal !== null) process.kill(process.pid, signal);
}
