import { generateKeyPairSync, sign, webcrypto } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/platform/json/canonical-json.js';
import { about, algorithm, bom } from '../inventory/documents.js';
import { ask } from '../support/authority.js';
import { officialCheck } from '../support/cyclonedx-schema.js';
import { signedText } from '../support/json-signature.js';
import { has } from '../support/peers.js';
import type { Service } from '../support/service.js';
import { publishedKey } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { type EndedProgram, sealwright } from './program.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let home: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  home = mkdtempSync(join(tmpdir(), 'sealwright-bom-'));
  const document = bom([algorithm({ name: 'RSA-2048 “alt” \n\u007f', ref: 'a', at: 'häfen/ß' })], about('shop'));
  await service.call('POST', '/api/ingest', { key: apiKey, body: document });
});
afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await stage.close();
});

function run(...args: string[]): Promise<EndedProgram> {
  return sealwright(['bom', ...args], {
    env: { HOME: home, SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: apiKey },
  });
}

/** Exports the inventory and embeds a signature in the document. */
async function signedExport(key: string): Promise<{ file: string; document: Record<string, unknown> }> {
  const file = join(home, `${key}.json`);
  const { body } = await service.call('GET', '/api/export/cyclonedx', { key: apiKey });
  writeFileSync(file, JSON.stringify(body, null, 2));
  expect(await run('sign', file, '--key', key)).toEqual({ code: 0, out: `${file}\n`, err: '' });
  return { file, document: JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown> };
}

describe('a CycloneDX document with an embedded signature', () => {
  it.skipIf(!has('python3'))(
    'by an RSA key is verified by openssl, over the content computed by another program',
    async () => {
      const { file, document } = await signedExport('demo-rsa');
      expect(document).toMatchObject({
        signature: { algorithm: 'RS256', keyId: 'demo-rsa', publicKey: { kty: 'RSA' } },
      });
      const check = officialCheck();
      check(document);
      expect(check.errors ?? []).toEqual([]);
      const [value, text, key] = ['value', 'text', 'key.pem'].map((name) => join(home, name)) as [
        string,
        string,
        string,
      ];
      const signed = signedText(readFileSync(file));
      writeFileSync(value, signed.value);
      writeFileSync(text, signed.text);
      writeFileSync(key, (await publishedKey(service, apiKey, 'demo-rsa')).publicKey);
      expect(ask('openssl', ['dgst', '-sha256', '-verify', key, '-signature', value, text])).toMatchObject({
        ok: true,
      });
    },
  );

  it.skipIf(!has('python3'))('by an EC key is verified by WebCrypto with the embedded key', async () => {
    const { file, document } = await signedExport('default');
    const { algorithm: name, publicKey } = document['signature'] as {
      algorithm: string;
      publicKey: webcrypto.JsonWebKey;
    };
    expect(name).toBe('ES256');
    const { value, text } = signedText(readFileSync(file));
    const curve = { name: 'ECDSA', namedCurve: 'P-256' };
    const key = await webcrypto.subtle.importKey('jwk', publicKey, curve, false, ['verify']);
    const how = { name: 'ECDSA', hash: 'SHA-256' };
    expect(await webcrypto.subtle.verify(how, key, new Uint8Array(value), new Uint8Array(text))).toBe(true);
  });

  it('is verified by the CLI with the named key of the service, but not after any change', async () => {
    const { file, document } = await signedExport('default');
    expect(await run('verify', file, '--key', 'default')).toMatchObject({ code: 0, out: 'valid: ES256 by default\n' });
    expect(await run('verify', file)).toMatchObject({ code: 0, out: 'valid: ES256 by default\n' });
    expect(await run('verify', file, '--key', 'demo-rsa')).toMatchObject({ code: 1 });
    const { signature, ...unsigned } = document;
    const changed = [
      { ...document, version: 2 },
      { ...document, signature: { ...(signature as object), keyId: 'release' } },
      { ...document, signature: { ...(signature as object), algorithm: 'RS256' } },
      { ...document, signature: { ...(signature as object), algorithm: 'none' } },
      unsigned,
    ];
    for (const one of changed) {
      writeFileSync(file, JSON.stringify(one));
      expect(await run('verify', file)).toMatchObject({ code: 1, out: expect.stringMatching(/^BAD .*\nNOT VALID\n$/) });
    }
  });

  it('is never verified by the embedded key: another key with the same name is rejected', async () => {
    const { file, document } = await signedExport('default');
    const { signature, ...unsigned } = document;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const facts = { algorithm: 'ES256', keyId: 'default', publicKey: publicKey.export({ format: 'jwk' }) };
    const toSign = canonicalJson({ ...unsigned, signature: facts });
    const value = sign('sha256', Buffer.from(toSign), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    const forged = { ...unsigned, signature: { ...facts, value: value.toString('base64url') } };
    expect(signature).toMatchObject({ keyId: facts.keyId });
    for (const [keyId, why] of [
      ['default', 'the signature does not verify'],
      ['imposter', 'has no signing key named "imposter"'],
    ]) {
      writeFileSync(file, JSON.stringify({ ...forged, signature: { ...forged.signature, keyId } }));
      expect(await run('verify', file)).toMatchObject({ code: 1, out: expect.stringContaining(why ?? '') });
    }
  });

  it.each([
    ['a key that is not there', ['--key', 'nobody'], 1, 'Signing key "nobody" not found'],
    ['no key', [], 2, 'requires --key'],
  ])('cannot be created with %s', async (_, options, code, why) => {
    const file = join(home, 'unsigned.json');
    writeFileSync(file, JSON.stringify(bom([])));
    expect(await run('sign', file, ...options)).toMatchObject({ code, err: expect.stringContaining(why) });
    expect(JSON.parse(readFileSync(file, 'utf8'))).not.toHaveProperty('signature');
  });

  it('cannot be created from other content', async () => {
    const file = join(home, 'other.json');
    const halfList = '{"bomFormat":"CycloneDX","components":[{} {}]}';
    for (const text of ['{"bomFormat":"SPDX"}', 'null', '[]', '{', halfList]) {
      writeFileSync(file, text);
      expect((await run('sign', file, '--key', 'default')).code).toBe(1);
    }
  });
});
