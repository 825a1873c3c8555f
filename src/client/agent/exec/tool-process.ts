import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

/** How a tool ended: by itself, or killed by a signal. */
export interface ToolEnd {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
  /** What a quiet tool printed, both streams, as far as it is kept. */
  readonly printed: string;
}

interface ToolStart {
  readonly env: NodeJS.ProcessEnv;
  /** What the tool prints is kept, and not shown. */
  readonly isQuiet: boolean;
  note(line: string): void;
}

const MAX_PRINTED = 1 << 20;

/** Exit codes of a shell for a command that is not there, or cannot be run. */
const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;

/** Signals that end programs. Those of a terminal reach the tool as well, since it is in the same foreground group. */
const FROM_OUTSIDE = ['SIGTERM', 'SIGHUP'] as const;
const FROM_TERMINAL = ['SIGINT', 'SIGQUIT'] as const;

/** Runs a tool on this program's terminal until it ends. This process stays until then, whatever signal it gets: it has requests to withdraw. */
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

/** Ends this process by the signal that ended the tool, so that whoever started it sees the same. Answers when the signal is not fatal here. */
export function endBySignal({ signal }: ToolEnd): void {
  if (signal !== null) process.kill(process.pid, signal);
}
