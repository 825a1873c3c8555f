import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readEnvironment } from './transport.js';

afterEach(() => vi.unstubAllEnvs());

describe('the socket directory', () => {
  it('is XDG_RUNTIME_DIR', () => {
    vi.stubEnv('XDG_RUNTIME_DIR', '/run/user/1000');
    expect(readEnvironment().runtimeDirectory).toBe('/run/user/1000');
  });

  it.each(['', 'run/user/1000'])('is the directory for temporary files if the variable is "%s"', (given) => {
    vi.stubEnv('XDG_RUNTIME_DIR', given);
    expect(readEnvironment().runtimeDirectory).toBe(resolve(tmpdir()));
  });

  it('is an absolute path, because programs look the socket up from other directories', () => {
    vi.stubEnv('XDG_RUNTIME_DIR', undefined);
    vi.stubEnv('TMPDIR', 'build/tmp');
    expect(readEnvironment().runtimeDirectory).toBe(resolve('build/tmp'));
  });
});
