import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ToolEnd {
  /** -1 when a signal ended it. */
  readonly code: number;
  readonly out: Buffer;
  /** What it said on its error stream. */
  readonly err: string;
}

export interface ToolOptions {
  readonly env: Record<string, string>;
  readonly cwd?: string;
  readonly input?: string | Buffer;
  /** Gets the process once it has started, to end it. */
  readonly started?: (child: { kill(signal: NodeJS.Signals): boolean }) => void;
}

/** Runs a tool as its user does, while this process goes on answering for people. */
export async function runTool(program: string, args: readonly string[], options: ToolOptions): Promise<ToolEnd> {
  const { env, cwd, input = '', started } = options;
  const child = spawn(program, args, { env, cwd, stdio: 'pipe' });
  const out: Buffer[] = [];
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  started?.(child);
  await once(child, 'close');
  return { code: child.exitCode ?? -1, out: Buffer.concat(out), err };
}
