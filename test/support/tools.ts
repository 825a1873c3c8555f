import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ToolEnd {
  /** Exit code; -1 if a signal ended the tool. */
  readonly code: number;
  readonly out: Buffer;
  /** Output of stderr. */
  readonly err: string;
}

export interface ToolOptions {
  readonly env: Record<string, string>;
  readonly cwd?: string;
  readonly input?: string | Buffer;
  /** Receives the process after it has started, so that the test can end it. */
  readonly started?: (child: { kill(signal: NodeJS.Signals): boolean }) => void;
}

/** Runs a tool without blocking this process, which may have to approve requests. */
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
