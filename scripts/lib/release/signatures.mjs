import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { must } from './artifacts.mjs';

export const RELEASE_KEY = 'release-key.pem';

/**
 * Signs files by the client that is being released, and has openssl verify each signature.
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

/** What the product finds of cryptography in its own sources, as CycloneDX: its sensor reports it, and the service exports it. */
export async function cryptographyBill({ client, url, token, source, version, file }) {
  const name = `sealwright-release-${version}`;
  const env = { ...process.env, SEALWRIGHT_URL: url, SEALWRIGHT_TOKEN: token };
  const spool = path.join(path.dirname(source), 'spool');
  await must(process.execPath, [client, 'sensor', path.join(source, 'src'), '--source', name, '--spool', spool], {
    env,
  });
  const address = `${url}/api/export/cyclonedx?version=1.6&source=${encodeURIComponent(name)}`;
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
  const text = await answer.text();
  if (!answer.ok) throw new Failure(`The inventory was not exported (${answer.status})`, '', text);
  const bill = JSON.parse(text.replaceAll(`${source}/`, ''));
  if ((bill.components ?? []).length === 0) throw new Failure('The product found no cryptography in its own sources');
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
}

async function publicKey(url, token, name) {
  const answer = await fetch(`${url}/api/v1/signing-keys?limit=200`, { headers: { authorization: `Bearer ${token}` } });
  if (!answer.ok)
    throw new Failure(
      `The keys of ${url} cannot be read (${answer.status})`,
      'SEALWRIGHT_TOKEN is a token or an API key.',
    );
  const key = (await answer.json()).items.find((item) => item.name === name);
  if (key === undefined) throw new Failure(`There is no signing key "${name}"`);
  return key.publicKey;
}
