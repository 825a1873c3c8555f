import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Config } from '../config/config.js';
import { StructuredLogger } from './structured-logger.js';

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
