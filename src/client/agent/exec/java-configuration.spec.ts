import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { javaSecurityProperties } from './java-configuration.js';

const home = mkdtempSync(join(tmpdir(), 'sealwright-java-'));
mkdirSync(join(home, 'conf/security'), { recursive: true });
writeFileSync(
  join(home, 'conf/security/java.security'),
  'security.provider.12=SunPCSC\nsecurity.provider.13=SunPKCS11\n',
);
afterAll(() => rmSync(home, { recursive: true, force: true }));

it.each([
  ['/tmp/sealwright-a/java.cfg', '/tmp/sealwright-a/java.cfg'],
  ['/tmp/a b/java.cfg', '/tmp/a b/java.cfg'],
  ['/home/müller/java.cfg', String.raw`/home/m\u00fcller/java.cfg`],
])('the path %s is escaped for a properties file', (path, written) => {
  expect(javaSecurityProperties({ JAVA_HOME: home }, path)).toBe(`security.provider.13=SunPKCS11 ${written}\n`);
});
