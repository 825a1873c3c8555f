import { parseArgs } from 'node:util';
import { DatabaseError } from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConfigError } from '../platform/config/config.js';
import { type AdminCommand, AdminError, print } from './command.js';
import { runProgram } from './program.js';

const command = (name: string, run: AdminCommand['run']): AdminCommand => ({
  name,
  usage: ['--out DIRECTORY', 'verify DIRECTORY'],
  summary: `Does ${name}`,
  details: ['What to know before.'],
  codes: ['Ends with 1 when it is Tuesday.'],
  run,
});
let out = '';
let said = '';

beforeEach(() => {
  out = '';
  said = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => (out += String(text)) !== '');
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => (said += String(text)) !== '');
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
});

const works = command('works', async () => print('done'));
const fails = (error: Error) => [command('fails', () => Promise.reject(error))];

describe('sealwright-admin', () => {
  it.each([[[]], [['help']], [['--help']], [['-h']]])('prints its help without a store: %j', async (argv) => {
    expect(await runProgram([works], argv)).toBe(0);
    expect(out).toContain('start with: sealwright-admin doctor');
    expect(out).toMatch(/^ {2}works +Does works$/m);
  });

  it.each([[['help', 'works']], [['works', '--help']], [['works', '-h']]])(
    'prints the help of a command: %j',
    async (argv) => {
      expect(await runProgram([works], argv)).toBe(0);
      expect(out).toMatch(
        /^Usage: sealwright-admin works --out DIRECTORY\n {7}sealwright-admin works verify DIRECTORY\n/,
      );
      expect(out).toContain('Ends with 1 when it is Tuesday.');
      expect(out).not.toContain('done');
    },
  );

  it('reports an unknown command and exits with 2', async () => {
    expect(await runProgram([works], ['wroks'])).toBe(2);
    expect(said).toContain('Unknown command "wroks"');
  });

  it('prints the usage when an argument is invalid and exits with 2', async () => {
    const strict = command('strict', async (args) => void parseArgs({ args, options: { all: { type: 'boolean' } } }));
    expect(await runProgram([strict], ['strict', '--al'])).toBe(2);
    expect(said).toContain("Unknown option '--al'");
    expect(said).toContain('Usage: sealwright-admin strict');
    expect(await runProgram([strict], ['strict', 'extra'])).toBe(2);
  });

  it('exits with the code that the command set', async () => {
    const finds = command('finds', async () => void (process.exitCode = 3));
    expect(await runProgram([finds], ['finds'])).toBe(3);
  });

  it('reports operator errors on one line, without a stack trace', async () => {
    expect(await runProgram(fails(new AdminError('The disk is full.')), ['fails'])).toBe(1);
    expect(said).toBe('sealwright-admin: The disk is full.\n');
  });

  it('exits with 2 when settings are invalid, and names all of them', async () => {
    expect(await runProgram(fails(new ConfigError(['SVC_PORT', 'SVC_HOST'])), ['fails'])).toBe(2);
    expect(said).toContain('SVC_PORT');
    expect(said).toContain('SVC_HOST');
  });

  it('reports database errors in plain words', async () => {
    const refused = Object.assign(new DatabaseError('no pg_hba.conf entry', 1, 'error'), { code: '28000' });
    expect(await runProgram(fails(refused), ['fails'])).toBe(1);
    expect(said).toContain('the user or the password was rejected (SVC_DATABASE_URL)');
    expect(said).not.toContain('program.spec');
  });

  it('prints the stack trace of other errors, without passwords', async () => {
    const surprise = new Error('connect postgresql://u:p4ss@db/x');
    expect(await runProgram(fails(surprise), ['fails'])).toBe(1);
    expect(said).toContain('program.spec');
    expect(said).not.toContain('p4ss');
  });
});
