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

describe('a human-readable log', () => {
  it('prints one line per message, whatever it contains', () => {
    loggerOf('dev').warn(FORGED, { cause: SECRET });
    expect(printed.split('\n')).toHaveLength(2);
    expect(printed).not.toContain('\u001b[2K');
    expect(printed).toContain('all is well');
    expect(printed).not.toContain(SECRET);
  });

  it('prints the stack of an error below it, with every line indented', () => {
    const error = new Error(FORGED);
    loggerOf('dev').error('it failed', error.stack);
    const [first = '', ...rest] = printed.trimEnd().split('\n');
    expect(first).toContain('it failed');
    expect(rest.slice(1).every((line) => line.startsWith('    '))).toBe(true);
    expect(printed).not.toContain(SECRET);
    expect(printed).not.toContain('\u001b[2K');
  });
});

it('a command logs nothing to its standard output', () => {
  const logger = new CommandLogger(new Config({ SVC_LOG_LEVEL: 'debug' }));
  for (const level of ['debug', 'log', 'warn', 'error', 'fatal'] as const) logger[level](`said by ${level}`, 'Part');
  expect(printed.match(/said by \w+/g)).toHaveLength(5);
  expect(process.stdout.write).not.toHaveBeenCalled();
});

it('colors are omitted when output goes to a file, a pipe or the journal', () => {
  loggerOf('dev').warn('plainly');
  expect(process.stdout.isTTY).not.toBe(true);
  expect(printed).not.toContain('\u001b[');
});

describe('a JSON lines log', () => {
  it('omits secrets from message, stack and fields', () => {
    const error = new Error(FORGED);
    loggerOf('prod').error(FORGED, error.stack, { cause: { url: `postgres://me:hidden-word@db/x`, key: SECRET } });
    const [line = '', ...rest] = printed.trimEnd().split('\n');
    expect(rest).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({ level: 'error', stack: expect.stringContaining('sw_***') });
    expect(printed).not.toContain(SECRET);
    expect(printed).not.toContain('hidden-word');
  });
});

describe('a repeated warning', () => {
  it('is printed once per 30 seconds, with the number of suppressed repetitions', () => {
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

  it('is a single log line', () => {
    const logger = loggerOf('dev');
    for (let count = 0; count < 50; count += 1) logger.warn('imports wait: its disk is full', 'ImportRunner');
    expect(printed.trimEnd().split('\n')).toHaveLength(1);
  });

  it('is printed each time if it belongs to a request', () => {
    const logger = loggerOf('dev');
    for (const requestId of ['one', 'two']) logger.warn('row.busy: repeat it', { requestId }, 'Http');
    expect(printed.trimEnd().split('\n')).toHaveLength(2);
  });
});
