import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { assertNotExpired } from './certificate-chain.js';

it('a certificate that expired before the signing attempt is rejected, although it was valid for the request', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-chain-'));
  const key = join(directory, 'key.pem');
  const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-days', '1'];
  const pem = execFileSync('openssl', ['req', '-x509', ...options, '-subj', '/CN=Release'], { stdio: 'pipe' });
  rmSync(directory, { recursive: true });
  const { raw, validToDate } = new X509Certificate(pem);
  const at = (milliseconds: number) => new Date(validToDate.getTime() + milliseconds);
  expect(() => assertNotExpired([raw], at(-1000))).not.toThrow();
  expect(() => assertNotExpired([raw], at(0))).toThrow("The key's certificate expired at");
  expect(() => assertNotExpired([])).not.toThrow();
});
