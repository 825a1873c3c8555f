import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Config } from './config.js';
import { SettingFiles } from './setting-files.js';
import { settingsCopy } from './settings-copy.js';
import { SECRET_SETTINGS, SETTINGS, type SettingName } from './settings.js';

const SECRET = 'correct-horse-battery-staple-0123456789';
const copyOf = (given: Record<string, string>) => settingsCopy(new SettingFiles(given));

describe('the settings copy in a backup', () => {
  it('contains settings that were given and differ from the default', () => {
    const text = copyOf({
      SVC_PUBLIC_URL: 'https://sign.example.com',
      SVC_PROFILE: 'dev',
      SVC_MAIL_FROM: 'A B <a@b.example>',
    });
    expect(parseEnv(text)).toEqual({ SVC_PUBLIC_URL: 'https://sign.example.com', SVC_MAIL_FROM: 'A B <a@b.example>' });
  });

  it('is taken from the process settings', () => {
    const config = new Config({ SVC_PORT: '9191', SVC_JWT_SECRET: SECRET });
    expect(parseEnv(config.settingsWithoutSecrets)).toEqual({ SVC_PORT: '9191' });
  });

  it.each([...SECRET_SETTINGS])('does not contain a value of %s, including previous values of a rotation', (name) => {
    const text = copyOf({ [name]: SECRET });
    expect(text).not.toContain(SECRET);
    expect(text).toContain(`# ${name} was set in the environment`);
  });

  it('contains the file path of a secret, but not its content', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'sealwright-copy-')), 'secret');
    writeFileSync(file, SECRET);
    const text = copyOf({ SVC_JWT_SECRET_FILE: file });
    expect(text).not.toContain(SECRET);
    expect(text).toContain(`SVC_JWT_SECRET_FILE=${file}`);
  });

  it.each([
    ['SVC_DATABASE_URL', 'postgresql://u:p4s/s@w,rd@db1,db2/name', 'postgresql://u@db1,db2/name'],
    [
      'SVC_DATABASE_URL',
      'postgresql://db/name?password=p4ss&sslmode=verify-full',
      'postgresql://db/name?sslmode=verify-full',
    ],
    ['SVC_DATABASE_URL', 'postgresql://db/name?sslpassword=p4ss', 'postgresql://db/name'],
    ['SVC_DATABASE_READ_URL', 'postgresql://u:p4s,s@db2,db3/name', 'postgresql://u@db2,db3/name'],
    ['SVC_REDIS_URL', 'rediss://:p4ss@cache:6379', 'rediss://@cache:6379'],
    ['SVC_TSA_AUTHORITIES', 'own,https://u:p4ss@tsa.example/x', 'own,https://u@tsa.example/x'],
  ] as const)('removes the password from %s', (name, given, kept) => {
    const text = copyOf({ [name]: given });
    expect(text).not.toContain('p4s');
    expect(parseEnv(text)[name]).toBe(kept);
  });

  it('knows every setting whose name suggests a secret', () => {
    // These settings contain names of keys in the token.
    const harmless = new Set<string>(['SVC_DEFAULT_KEY', 'SVC_TSA_KEY']);
    const sounding = (Object.keys(SETTINGS) as SettingName[]).filter(
      (name) => /SECRET|PASSWORD|PASSPHRASE|CREDENTIAL|_(?:PIN|KEY|TOKEN)$/.test(name) && !harmless.has(name),
    );
    expect(sounding.filter((name) => !SECRET_SETTINGS.has(name))).toEqual([]);
  });
});
