import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { must } from './artifacts.mjs';

export const RELEASE_KEY = 'release-key.pem';
/** Lifetime of the sensor's key, in case the release is killed before it removes the sensor. */
const SENSOR_DAYS = 1;

/**
 * signAll signs files with the client that is being released, and verifies each signature with openssl.
 * @param {{ client: string, url: string, token: string, key: string, out: string, names: string[] }} order
 */
export async function signAll({ client, url, token, key, out, names }) {
  const env = { ...process.env, SEALWRIGHT_URL: url, SEALWRIGHT_TOKEN: token };
  writeFileSync(path.join(out, RELEASE_KEY), await publicKey(url, token, key));
  for (const name of names) {
    const file = path.join(out, name);
    const args = ['sign', file, '--key', key, '--format', 'raw', '--algorithm', 'sha256', '--out', `${file}.sig`];
    await must(process.execPath, [client, ...args, '--wait', '600'], { env });
    const verify = ['dgst', '-sha256', '-verify', path.join(out, RELEASE_KEY), '-signature', `${file}.sig`, file];
    const said = await must('openssl', verify);
    if (!said.includes('Verified OK')) throw new Failure(`openssl does not verify the signature of ${name}`, '', said);
  }
}

/**
 * cryptographyBill writes a CycloneDX CBOM of the product's own sources: its sensor reports the findings, and the service exports them. The sensor is
 * registered for this scan only, with a key that can only report.
 */
export async function cryptographyBill({ client, url, token, source, version, file }) {
  const name = `sealwright-release-${version}`;
  const spool = path.join(path.dirname(source), 'spool');
  const expiry = new Date(Date.now() + SENSOR_DAYS * 86_400_000).toISOString();
  // The name contains the time, because the sensor of a killed release may still exist.
  const body = { name: `${name} ${new Date().toISOString()}`, kind: 'host', expiry };
  const sensor = await asked({ url, token }, 'POST', '/api/sensors', body);
  try {
    const env = { ...process.env, SEALWRIGHT_URL: url, SEALWRIGHT_TOKEN: sensor.key };
    const args = [client, 'sensor', path.join(source, 'src'), '--source', name, '--spool', spool];
    await must(process.execPath, args, { env });
  } finally {
    await asked({ url, token }, 'DELETE', `/api/sensors/${sensor.id}`);
  }
  // A sensor reports the source of its findings as `NAME:PATH`, and splits a large path into several sources.
  const query = `version=1.6&q=${encodeURIComponent(`source="${name}:*"`)}`;
  const exported = await asked({ url, token }, 'GET', `/api/export/cyclonedx?${query}`);
  // The inventory also contains results of an earlier run for the same version in another directory.
  for (const { evidence } of exported.components ?? [])
    if (evidence?.occurrences !== undefined)
      evidence.occurrences = evidence.occurrences.filter(({ location }) => location.includes(`${source}/`));
  const bill = JSON.parse(JSON.stringify(exported).replaceAll(`${source}/`, ''));
  if ((bill.components ?? []).length === 0)
    throw new Failure('The product found no cryptography in its own source code');
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
}

async function publicKey(url, token, name) {
  const { items } = await asked({ url, token }, 'GET', '/api/v1/signing-keys?limit=200');
  const key = items.find((item) => item.name === name);
  if (key === undefined) throw new Failure(`Signing key "${name}" does not exist`);
  return key.publicKey;
}

/** Calls the service and returns the JSON response. */
async function asked({ url, token }, method, address, body) {
  const call = { method, headers: { authorization: `Bearer ${token}` } };
  if (body !== undefined) {
    call.headers['content-type'] = 'application/json';
    call.body = JSON.stringify(body);
  }
  const answer = await fetch(`${url}${address}`, call);
  const text = await answer.text();
  if (answer.ok) return text === '' ? undefined : JSON.parse(text);
  const rights = 'SEALWRIGHT_TOKEN needs the rights listed in docs/releases.md.';
  throw new Failure(`${method} ${address} returned ${answer.status}`, rights, text);
}
