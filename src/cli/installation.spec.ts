import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Installation, newPin, newSecret } from './installation.js';

const account = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
let etc: string;
let installation: Installation;
const modeOf = (name: string) => statSync(join(etc, name)).mode & 0o777;

beforeEach(() => {
  etc = mkdtempSync(join(tmpdir(), 'installation-'));
  installation = new Installation(etc, account);
});

describe.runIf(process.getuid?.() === 0)('an installation that is set up twice', () => {
  it('keeps every generated secret', async () => {
    const secret = await installation.ensureSecret('jwt-secret', newSecret);
    expect(secret.length).toBeGreaterThan(32);
    expect(await installation.ensureSecret('jwt-secret', newSecret)).toBe(secret);
    expect(modeOf('secrets')).toBe(0o700);
    expect(modeOf('secrets/jwt-secret')).toBe(0o600);
    const pin = await installation.ensurePin();
    expect(await installation.ensurePin()).toBe(pin);
    expect(modeOf('pkcs11-pin')).toBe(0o400);
  });

  it('replaces an empty secret file, which no unit accepts', async () => {
    await installation.ensureSecret('jwt-secret', () => '');
    expect(await installation.ensureSecret('jwt-secret', () => 'made')).toBe('made');
  });

  it('adds missing settings and leaves operator text unchanged', async () => {
    writeFileSync(join(etc, 'sealwright.env'), '# ours\nSVC_PUBLIC_URL=https://a.example\nSVC_PORT=1');
    expect(await installation.addSettings({ SVC_PUBLIC_URL: 'https://b.example', SVC_HOST: '127.0.0.1' })).toEqual([
      'SVC_HOST',
    ]);
    expect(readFileSync(join(etc, 'sealwright.env'), 'utf8')).toBe(
      '# ours\nSVC_PUBLIC_URL=https://a.example\nSVC_PORT=1\nSVC_HOST=127.0.0.1\n',
    );
    expect(await installation.addSettings({ SVC_HOST: 'elsewhere' })).toEqual([]);
  });

  it('rejects a value that would add another setting', async () => {
    await expect(installation.addSettings({ SVC_PUBLIC_URL: 'https://a\nSVC_PROFILE=dev' })).rejects.toThrow(
      'SVC_PUBLIC_URL must be a single line',
    );
  });
});

describe('a PIN', () => {
  it('has 16 digits', () => {
    expect(newPin()).toMatch(/^\d{16}$/);
  });
});
