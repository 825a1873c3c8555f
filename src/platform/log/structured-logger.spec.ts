import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Config } from '../config/config.js';
import { CommandLogger, RepeatedWarnings, StructuredLogger } from './structured-logger.js';

const SECRET = 'sw_0123456789ab_ABCDEFGHIJKLMNOPQRSTUV';
const FORGED = `refused: ${SECRET}\r\n[Nest] 1  - LOG [Http] all is well\u001b[2K\u2028`;
let printed = '';

beforeEach(() => {
  printed = '';
  const print = (text: string | Uint8Array) => (printed += text.toString()) !== '';
  vi.spyOn(process.stdout, 'write').mockImplementation(print);
  vi.spyOn(process.stderr, 'write').mockImplementation(print);
});
afterEach(() => vi.restoreAllMocks());

const loggerOf = (profile: 'dev' | 'prod') =>
  new StructuredLogger(new Config({ SVC_PROFILE: profile, SVC_JWT_SECRET: 'x'.repeat(40) }));

describe('a log for people', () => {
  it('has one line per message, whatever is in it', () => {
    loggerOf('dev').warn(FORGED, { cause: SECRET });
    expect(printed.split('\n')).toHaveLength(2);
    expect(printed).not.toContain('\u001b[2K');
    expect(printed).toContain('all is well');
    expect(printed).not.toContain(SECRET);
  });

  it('has the stack of an error below it, each line of which stands in', () => {
    const error = new Error(FORGED);
    loggerOf('dev').error('it failed', error.stack);
    const [first = '', ...rest] = printed.trimEnd().split('\n');
    expect(first).toContain('it failed');
    expect(rest.slice(1).every((line) => line.startsWith('    '))).toBe(true);
    expect(printed).not.toContain(SECRET);
    expect(printed).not.toContain('\u001b[2K');
  });
});

it('of a command leaves its standard output to what was asked for', () => {
  const logger = new CommandLogger(new Config({ SVC_LOG_LEVEL: 'debug' }));
  for (const level of ['debug', 'log', 'warn', 'error', 'fatal'] as const) logger[level](`said by ${level}`, 'Part');
  expect(printed.match(/said by \w+/g)).toHaveLength(5);
  expect(process.stdout.write).not.toHaveBeenCalled();
});

it('has no colours where it is read by programs: a file, a pipe, a journal', () => {
  loggerOf('dev').warn('plainly');
  expect(process.stdout.isTTY).not.toBe(true);
  expect(printed).not.toContain('\u001b[');
});

describe('a log of JSON lines', () => {
  it('has no secret in message, stack or fields', () => {
    const error = new Error(FORGED);
    loggerOf('prod').error(FORGED, error.stack, { cause: { url: `postgres://me:hidden-word@db/x`, key: SECRET } });
    const [line = '', ...rest] = printed.trimEnd().split('\n');
    expect(rest).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({ level: 'error', stack: expect.stringContaining('sw_***') });
    expect(printed).not.toContain(SECRET);
    expect(printed).not.toContain('hidden-word');
  });
});

describe('a warning that comes again in the same words', () => {
  it('is printed once in half a minute, with how often it came meanwhile', () => {
    const repeated = new RepeatedWarnings();
    expect(repeated.take('imports wait', 0)).toBe(0);
    expect([1000, 2000, 29_000].map((now) => repeated.take('imports wait', now))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(repeated.take('mails wait', 2000)).toBe(0);
    expect(repeated.take('imports wait', 31_000)).toBe(3);
    expect(repeated.take('imports wait', 62_000)).toBe(0);
  });

  it('is one line of the log', () => {
    const logger = loggerOf('dev');
    for (let count = 0; count < 50; count += 1) logger.warn('imports wait: its disk is full', 'ImportRunner');
    expect(printed.trimEnd().split('\n')).toHaveLength(1);
  });

  it('is printed each time when it belongs to a call', () => {
    const logger = loggerOf('dev');
    for (const requestId of ['one', 'two']) logger.warn('row.busy: repeat it', { requestId }, 'Http');
    expect(printed.trimEnd().split('\n')).toHaveLength(2);
  });
});
