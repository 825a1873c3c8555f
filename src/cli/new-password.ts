import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { AdminError, ADMIN_EXIT, note } from './command.js';

/** readNewPassword reads a new password, twice from a terminal without echo, or as one line if standard input is not a terminal. */
export async function readNewPassword(): Promise<string> {
  if (!process.stdin.isTTY) return lineFrom(await text(process.stdin));
  const password = await ask('New password: ');
  if (password !== (await ask('Again: '))) throw new AdminError('the passwords do not match', ADMIN_EXIT.usage);
  return nonEmpty(password);
}

function lineFrom(input: string): string {
  const [line = '', ...rest] = input.replace(/\r?\n$/, '').split(/\r?\n/);
  if (rest.length > 0) throw new AdminError('standard input has more than one line', ADMIN_EXIT.usage);
  return nonEmpty(line);
}

function nonEmpty(password: string): string {
  if (password === '') throw new AdminError('no password was entered', ADMIN_EXIT.usage);
  return password;
}

async function ask(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    note('');
  }
}
